// What a site of Docusaurus says once. The page of this folder is built without it, by build.mjs.
export default {
  title: "Training at scale",
  scripts: [{ src: 'http://bmax.example/week-3/embed.js', async: true }],
};
