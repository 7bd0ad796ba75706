// Makes the frames of a page that show bmax as high as what they show, and as light or as dark as the text
// around them asks for. Optional: without it a frame keeps its height and follows the reader's system.
(() => {
  // The folder of bmax is that of this script.
  const own = document.currentScript?.src;
  if (!own) return;
  const folder = new URL(".", own).href;
  const told = new Map();

  // Only a frame of that folder is believed. Text of srcdoc would stand in the place of its address.
  const isOurs = (frame) => frame.src.startsWith(folder) && !frame.hasAttribute("srcdoc");
  // In CSS pixels. No figure is so high, be it unfolded on a telephone: tests/browser/embed_script.rs.
  const MOST = 40_000;

  // Light text stands on something dark. The first number of a colour is its lightness, but for those of red, green and blue.
  const themeAround = (frame) => {
    const colour = getComputedStyle(frame.parentElement).color;
    const [a, b, c] = colour.match(/(?<![\w-])[\d.]+/g);
    const light = /^rgb/.test(colour) ? (3 * a + 6 * b + 1 * c) / 2550 : /^l/.test(colour) ? a / 100 : a;
    return light > 0.5 ? "dark" : "light";
  };

  const follow = () => {
    for (const [frame, before] of told) {
      const theme = frame.isConnected ? themeAround(frame) : before;
      if (theme === before) continue;
      told.set(frame, theme);
      // A frame is transparent while its colour scheme is that of what it shows, and has paper of its own
      // where that was told to be another.
      frame.style.colorScheme = theme;
      if (!/[?&]theme=(light|dark)/.test(frame.src)) frame.contentWindow.postMessage({ bmax: 1, type: "theme", theme }, "*");
    }
  };

  addEventListener("message", ({ data, source }) => {
    if (data?.bmax !== 1 || data.type !== "size" || !(data.height > 0 && data.height <= MOST)) return;
    for (const frame of document.querySelectorAll("iframe")) {
      if (frame.contentWindow !== source || !isOurs(frame)) continue;
      frame.style.boxSizing = "content-box";
      frame.style.height = `${data.height}px`;
      // It may have been loaded anew, and know nothing of the theme.
      told.set(frame, "");
      follow();
    }
  });

  const watch = new MutationObserver(follow);
  const start = () => {
    for (const one of [document.documentElement, document.body]) watch.observe(one, { attributes: true });
    // What a frame said before this script was there, it says again.
    for (const frame of document.querySelectorAll("iframe"))
      if (isOurs(frame)) frame.contentWindow.postMessage({ bmax: 1, type: "ask" }, "*");
  };
  if (document.body) start();
  else addEventListener("DOMContentLoaded", start);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", follow);
  addEventListener("transitionend", follow);
})();
