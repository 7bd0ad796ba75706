import { renderToString } from "react-dom/server";
import Page from "./page.jsx";

const html = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Week 3: memory of a batch</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="notes.css">
    <script src="client.js" defer></script>
    <script async src="http://bmax.example/week-3/embed.js"></script>
  </head>
  <body><div id="root">${renderToString(<Page />)}</div></body>
</html>
`;
process.stdout.write(html);
