// The switch of a page that somebody wrote by hand.
document.getElementById("theme").addEventListener("click", (event) => {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  event.target.textContent = root.dataset.theme === "dark" ? "Light theme" : "Dark theme";
});
