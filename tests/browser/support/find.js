// Finds elements as assistive technology does: by role and name. Returns the matches inside the
// scope; a whole name wins over a part of one. What is not rendered has no role.
const [scope, role, name] = arguments;
const roles = {
  button: "button, summary, [role=button]",
  link: "a[href], [role=link]",
  textbox: "input[type=text]:not([role]), input:not([type]), textarea, [role=textbox]",
  searchbox: "input[type=search]",
  slider: "input[type=range], [role=slider]",
  combobox: "select, [role=combobox]",
  radio: "input[type=radio], [role=radio]",
  checkbox: "input[type=checkbox], [role=checkbox]",
  heading: "h1, h2, h3, h4, [role=heading]",
  table: "table, [role=table]",
  img: "img, svg, canvas, [role=img]",
  region: "section, [role=region]",
  group: "fieldset, details, [role=group]",
};
const tidy = (text) => (text ?? "").replace(/\s+/g, " ").trim().toLowerCase();
// What is hidden from the eye or from assistive technology is no part of a name.
const words = (node) => {
  if (node.nodeType === Node.TEXT_NODE) return node.data;
  if (node.nodeType !== Node.ELEMENT_NODE || node.hidden || node.getAttribute("aria-hidden") === "true") return "";
  return [...node.childNodes].map(words).join("");
};
const named = (element) => {
  const by = element.getAttribute("aria-labelledby");
  if (by) return by.split(/\s+/).map((id) => document.getElementById(id)).filter(Boolean).map(words).join(" ");
  const label = element.getAttribute("aria-label");
  if (label) return label;
  if (element.labels?.length) return [...element.labels].map(words).join(" ");
  const caption = element.querySelector(":scope > legend, :scope > caption");
  if (caption) return words(caption);
  return words(element) || element.getAttribute("title");
};
const wanted = tidy(name);
const all = [...document.querySelectorAll(scope)].flatMap((root) => [...root.querySelectorAll(roles[role] ?? `[role=${role}]`)]);
const rendered = all.filter((element) => element.checkVisibility({ visibilityProperty: true }));
const whole = rendered.filter((element) => tidy(named(element)) === wanted);
return whole.length ? whole : rendered.filter((element) => tidy(named(element)).includes(wanted));
