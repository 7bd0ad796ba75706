// Runs before anything of a page. Notes in self.found whatever a text that was only to be shown has done:
// code that ran, a dialog, a refusal by the policy, an element or attribute that no figure makes, markup
// that was handed to a parser. The payloads of the tests call hit(), or carry that name.
self.found = [];
{
  const note = (what) => found.push(String(what).slice(0, 200));
  self.hit = () => note("code ran");
  for (const name of ["alert", "confirm", "prompt", "open", "print"]) self[name] = () => note(name);
  addEventListener("securitypolicyviolation", (event) => note(`${event.effectiveDirective}: ${event.blockedURI}`));

  // Everything that takes text and makes elements or code of it.
  const parses = (text) => /hit/.test(text) && note(`parsed: ${text}`);
  const watch = (owner, name) => {
    const original = owner[name];
    owner[name] = function (...all) {
      all.forEach(parses);
      return original.apply(this, all);
    };
  };
  watch(Document.prototype, "write");
  watch(Document.prototype, "writeln");
  watch(Element.prototype, "insertAdjacentHTML");
  watch(Range.prototype, "createContextualFragment");
  watch(DOMParser.prototype, "parseFromString");
  watch(Element.prototype, "setHTMLUnsafe");
  for (const [owner, name] of [[Element, "innerHTML"], [Element, "outerHTML"], [ShadowRoot, "innerHTML"], [HTMLIFrameElement, "srcdoc"]]) {
    const original = Object.getOwnPropertyDescriptor(owner.prototype, name);
    Object.defineProperty(owner.prototype, name, {
      ...original,
      set(text) {
        parses(text);
        original.set.call(this, text);
      },
    });
  }

  // What figures never make of a text, and what no element of the page has in its markup.
  const made = /^(script|iframe|object|embed|base|img|image|audio|video|style|meta|form|mglyph)$/i;
  const acts = ({ id, attributes }) =>
    id === "hit" ||
    [...attributes].some(({ name, value }) =>
      name.startsWith("on") || name === "srcdoc" || (/(^|:)(href|src|action|formaction)$/.test(name) && /^\s*javascript:|\bhit\b/i.test(value)));
  const look = (node, strange) => {
    if (!(node instanceof Element)) return;
    for (const element of [node, ...node.querySelectorAll("*")]) if (strange(element)) note(`made: ${element.outerHTML}`);
  };
  const read = (changes) => {
    for (const { type, target, addedNodes } of changes) {
      if (type === "attributes") acts(target) && note(`made: ${target.outerHTML}`);
      else addedNodes.forEach((node) => look(node, (element) => made.test(element.localName) || acts(element)));
    }
  };
  const observer = new MutationObserver(read);
  // From when the page's own markup is there.
  addEventListener("DOMContentLoaded", () => {
    look(document.documentElement, acts);
    observer.observe(document, { subtree: true, childList: true, attributes: true });
  });
  self.foundSoFar = () => {
    read(observer.takeRecords());
    return found;
  };
}
