// The page stands for any address of the host, at any depth: the site begins at the nearest folder above that has its
// manifest (some hosts answer every address with a page). Without one, the ways begin at the host's first folder, as they
// are written.
const find = async () => {
  const names = location.pathname.split("/");
  for (let depth = names.length - 1; depth > 0; depth--) {
    const folder = names.slice(0, depth).join("/") + "/";
    const found = await fetch(`${folder}manifest.webmanifest`, { method: "HEAD" }).catch(() => null);
    if (found?.ok && !found.headers.get("content-type")?.includes("html")) return folder;
  }
  return "/";
};
find().then((folder) => {
  home = folder;
  for (const way of document.links)
    if (way.origin === location.origin && !way.hash) way.href = folder + way.pathname.slice(1) + way.search;
});
