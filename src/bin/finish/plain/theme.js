// The button of the theme on a page without the program; on the others that has it (src/site/theme.rs).
const NEXT = { auto: "light", light: "dark", dark: "auto" };
const MARKS = { auto: "◐", light: "○", dark: "●" };
const button = document.createElement("button");
button.type = "button";
button.className = "button button-quiet theme-switch";
const show = () => {
  const theme = root.dataset.theme ?? "auto";
  button.textContent = MARKS[theme];
  button.ariaLabel = button.title = `Theme: ${theme}. Switch to ${NEXT[theme]}.`;
};
button.addEventListener("click", () => {
  const theme = NEXT[root.dataset.theme ?? "auto"];
  root.dataset.theme = theme;
  try {
    if (theme === "auto") localStorage.removeItem("bmax-theme");
    else localStorage.setItem("bmax-theme", theme);
  } catch {}
  show();
});
show();
document.getElementById("theme-switch").append(button);
