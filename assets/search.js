// Search over models, GPUs, settings, sections, terms and questions. The page (index.html) fetches this file with the first
// press, and the build (src/bin/finish/search/) puts into it what can be found and its style sheet. What is typed stays
// in this window. It follows the pattern of an editable combobox with a list:
// https://www.w3.org/WAI/ARIA/apg/patterns/combobox/
const INDEX = "{{index}}";
const STYLE = "{{style}}";

// The folder of the site, wherever it lies.
const ROOT = new URL(".", import.meta.url);

// So many results of a group are shown.
const MOST = 8;

const make = (tag, look, ...inner) => {
  const { attributes = {}, ...properties } = look;
  const one = Object.assign(document.createElement(tag), properties);
  for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
  one.append(...inner);
  return one;
};

// The words of a text in small letters; a number keeps its point.
const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+(?:\.\p{N}+)*/gu) ?? [];

const entries = INDEX.groups.flatMap(({ name: group, key, entries }) =>
  entries.map(([to, name, note, more]) => ({
    group,
    key,
    to,
    name,
    note,
    names: words(name),
    squeezed: words(name).join(""),
    more: words(more),
    notes: words(note),
  })),
);

// Whether two words differ in one letter, or in two that have changed places.
const isTypo = (one, other) => {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const [a, b] = [one.slice(at), other.slice(at)];
  return (
    a.slice(1) === b.slice(1) || a.slice(1) === b || a === b.slice(1) || (a.slice(0, 2) === b[1] + b[0] && a.slice(2) === b.slice(2))
  );
};

// How well some of these words fit what was typed: whole, as a beginning, or not at all.
const fits = (typed, among) => {
  let best = 0;
  for (const word of among) if (word.startsWith(typed)) best = Math.max(best, word === typed ? 1 : 0.5 + (0.3 * typed.length) / word.length);
  return best;
};

const worth = (typed, { names, squeezed, more, notes }) =>
  Math.max(
    10 * fits(typed, names),
    squeezed.includes(typed) && typed.length > 1 ? 4 : 0,
    6 * fits(typed, more),
    2 * fits(typed, notes),
    typed.length > 3 && names.some((word) => isTypo(typed, word)) ? 3 : 0,
  );

// What has every word that was typed, the best first, in groups; the group with the best of all comes first.
const found = (text) => {
  const typed = words(text);
  const whole = typed.join("");
  const groups = new Map();
  for (const entry of typed.length ? entries : []) {
    // What other programs call a setting is one word: “batchsize”.
    const each = typed.map((word) => (typed.length > 1 && entry.more.includes(whole) ? 10 : worth(word, entry)));
    if (each.includes(0)) continue;
    const score = each.reduce((sum, one) => sum + one, 0) - 0.8 * entry.names.length;
    if (!groups.has(entry.group)) groups.set(entry.group, []);
    groups.get(entry.group).push({ entry, score });
  }
  for (const group of groups.values()) group.sort((one, other) => other.score - one.score);
  return [...groups].sort(([, [one]], [, [other]]) => other.score - one.score);
};

// The pairs of letters of a text.
const pairs = (text) => new Set([...text].slice(1).map((letter, at) => text[at] + letter));

// The three names that are most like a text that finds nothing.
const nearest = (text) => {
  const typed = pairs(words(text).join(""));
  const alike = ({ squeezed }) => {
    const other = pairs(squeezed);
    return (2 * [...typed].filter((pair) => other.has(pair)).length) / (typed.size + other.size);
  };
  const all = entries.map((entry) => ({ entry, score: alike(entry) })).sort((one, other) => other.score - one.score);
  return all.slice(0, 3).filter(({ score }) => score > 0.2);
};

// The configuration that the page would take to another one, as pairs of a query.
const configuration = () => {
  const query = document.querySelector("a[data-way]")?.search || location.search;
  return query.slice(1).split("&").filter(Boolean);
};

const parameter = (pair) => pair.split("=", 1)[0];

// The same with another model or GPU, and without what described the one before. What is compared with stays what it was.
const changed = (key, slug) => {
  const left = configuration();
  const gone = left.filter((pair) => parameter(pair) === key || INDEX.inputs[key].includes(parameter(pair)));
  const kept = left.filter((pair) => !gone.includes(pair)).map((pair) => {
    if (parameter(pair) !== "vs") return pair;
    const named = pair.slice(3).split(";").map((one) => one.split(":", 1)[0]);
    const was = gone.some((one) => parameter(one) === key) ? gone : [`${key}=${INDEX.default[key]}`, ...gone];
    const more = was.filter((one) => !named.includes(parameter(one))).map((one) => one.replace("=", ":"));
    return `vs=${[...more, pair.slice(3)].join(";")}`;
  });
  const version = kept.find((pair) => parameter(pair) === "v") ?? `v=${INDEX.version}`;
  return [version, `${key}=${slug}`, ...kept.filter((pair) => pair !== version)].join("&");
};

const address = ({ key, to }) => {
  if (key) return new URL(`?${changed(key, to)}`, ROOT);
  const place = new URL(to, ROOT);
  place.search = configuration().join("&");
  return place;
};

let dialog, box, list, status, hint, shown, active;

const close = () => dialog.close();

const go = (entry) => {
  const there = address(entry);
  close();
  // A place of this page is gone to without loading it again. What is out of sight gets its place in the layout first.
  if (entry.key || there.pathname !== location.pathname) return location.assign(there);
  delete document.documentElement.dataset.firstLook;
  if (location.hash === there.hash) dispatchEvent(new HashChangeEvent("hashchange"));
  location.hash = there.hash;
};

const point = (option) => {
  active?.setAttribute("aria-selected", "false");
  active = option;
  if (option) box.setAttribute("aria-activedescendant", option.id);
  else box.removeAttribute("aria-activedescendant");
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
};

const option = ({ entry }) => {
  const note = entry.note && make("span", { className: "search-note" }, entry.note);
  const one = make("div", { className: "search-option", id: `search-option-${shown.length}` }, make("span", {}, entry.name), note);
  one.role = "option";
  one.ariaSelected = "false";
  one.addEventListener("click", () => go(entry));
  shown.push({ one, entry });
  return one;
};

const group = ([name, all], at) => {
  const title = make("div", { className: "search-group", id: `search-group-${at}` }, name);
  const group = make("div", { attributes: { role: "group", "aria-labelledby": title.id } }, title, ...all.slice(0, MOST).map(option));
  title.role = "presentation";
  if (all.length > MOST) title.append(make("span", { className: "search-note" }, `${MOST} of ${all.length}`));
  return group;
};

// The count is told once the reader pauses.
let later;
const tell = (text) => {
  clearTimeout(later);
  later = setTimeout(() => (status.textContent = text), 400);
};

const show = () => {
  shown = [];
  point();
  const text = box.value.trim();
  const groups = found(text);
  const near = text && !groups.length ? nearest(text) : [];
  const all = near.length ? [["The nearest names", near]] : groups;
  list.replaceChildren(...all.map(group));
  box.setAttribute("aria-expanded", String(all.length > 0));
  hint.hidden = groups.length > 0;
  hint.replaceChildren(...(text ? [`Nothing is called “${text}”. A model that is not listed can be read from `, own] : [WHAT]));
  const sum = shown.length;
  const count = `${sum} ${sum === 1 ? "result" : "results"}`;
  tell(!text ? "" : groups.length ? count : `No result. ${near.length ? `${count} with a similar name.` : ""}`);
};

const WHAT = "Models, GPUs, settings, sections, terms and questions. What you type stays in this window.";
const own = make("a", { href: "" }, "its config.json");
own.addEventListener("click", (event) => {
  event.preventDefault();
  go({ to: INDEX.own });
});

// Which result a key leads to, where it leads to one.
const moved = (key) => {
  const at = shown.findIndex(({ one }) => one === active);
  const last = shown.length - 1;
  // Without a result that is pointed at, these two move within the text.
  if (key === "Home") return at < 0 ? undefined : 0;
  if (key === "End") return at < 0 ? undefined : last;
  if (key === "ArrowDown") return at === last ? 0 : at + 1;
  if (key === "ArrowUp") return at <= 0 ? last : at - 1;
};

const press = (event) => {
  if (event.isComposing || !shown.length) return;
  if (event.key === "Enter") {
    event.preventDefault();
    return go((shown.find(({ one }) => one === active) ?? shown[0]).entry);
  }
  const at = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey ? undefined : moved(event.key);
  if (at === undefined) return;
  event.preventDefault();
  point(shown[at].one);
};

const build = () => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  list = make("div", { id: "search-list", className: "search-list", attributes: { role: "listbox", "aria-label": "Results" } });
  box = make("input", {
    type: "text",
    id: "search-box",
    autocomplete: "off",
    spellcheck: false,
    enterKeyHint: "go",
    attributes: { role: "combobox", "aria-expanded": "false", "aria-controls": list.id, "aria-autocomplete": "list" },
  });
  box.addEventListener("input", show);
  box.addEventListener("keydown", press);
  const label = make("label", { htmlFor: box.id, className: "search-label" }, "Search");
  const leave = make("button", { type: "button", className: "button button-quiet" }, "Close");
  leave.addEventListener("click", close);
  status = make("p", { className: "visually-hidden", attributes: { role: "status" } });
  hint = make("p", { className: "search-hint" });
  const head = make("div", { className: "search-head" }, label, box, leave);
  dialog = make("dialog", { className: "search", attributes: { "aria-label": "Search", closedby: "any" } }, head, hint, list, status);
  // Browsers that do not know closedby.
  dialog.addEventListener("click", ({ target }) => target === dialog && close());
  document.body.append(dialog);
};

// Opens the dialog. The keyboard goes back to what had it, or to the button.
export const search = (button) => {
  if (!dialog) build();
  if (dialog.open) return;
  if (document.activeElement === document.body) button.focus({ preventScroll: true });
  dialog.showModal();
  box.focus();
  box.select();
  show();
};

const pause = (time) => new Promise((then) => setTimeout(then, time));

// Brings the reader to what an address names: `place` has this id, or is the place that it is part of. A figure makes what
// it folds away when that is unfolded, so that its folds are opened one after another until the wanted one is there.
export const arrive = async (place, id) => {
  delete document.documentElement.dataset.firstLook;
  place.scrollIntoView();
  // A figure that is being taken over is inert until all of it is there.
  const figure = place.closest("[data-figure]") ?? place.querySelector("[data-figure]");
  for (let left = 200; left && figure?.inert; left -= 1) await pause(100);
  const folds = figure ? figure.querySelectorAll("details:not([open], [data-desk])") : [];
  for (const fold of folds) {
    if (document.getElementById(id)) break;
    fold.open = true;
    await pause(50);
    if (!document.getElementById(id)) fold.open = false;
  }
  const found = document.getElementById(id);
  if (!found) return;
  const closed = found.closest("details:not([open])");
  // A press, and not the attribute: some folds are filled by it. Browsers unfold what an address names by themselves.
  if (closed) closed.firstElementChild.click();
  else if (found.closest("[data-desk]")) found.click();
  found.scrollIntoView();
  found.focus({ preventScroll: true });
};
