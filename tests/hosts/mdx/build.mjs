// Builds the MDX page into the folder that is named: once as HTML, once as the program that takes it over.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, out] = process.argv.slice(2);
const from = createRequire(join(packages, "package.json"));
const { build } = from("esbuild");
const { default: mdx } = await import(pathToFileURL(join(packages, "node_modules/@mdx-js/esbuild/index.js")));

const shared = {
  bundle: true,
  jsx: "automatic",
  plugins: [mdx()],
  nodePaths: [join(packages, "node_modules")],
  minify: true,
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
};
const server = join(out, "server.cjs");
await build({ ...shared, entryPoints: [join(import.meta.dirname, "server.jsx")], platform: "node", outfile: server });
writeFileSync(join(out, "index.html"), execFileSync(process.execPath, [server]));
await build({ ...shared, entryPoints: [join(import.meta.dirname, "client.jsx")], outfile: join(out, "client.js") });
