// Reads names of files in a folder, a line each, and says of each its bytes, those as Brotli at its highest level, those
// as gzip at the level that most servers have, and its name again: node tools/compressed.mjs dist <names
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

const [, , folder] = process.argv;
for (const name of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const bytes = readFileSync(join(folder, name));
  console.log(bytes.length, brotliCompressSync(bytes).length, gzipSync(bytes).length, name);
}
