// Makes WebAssembly modules smaller, each in its place: node tools/optimize.mjs BINARYEN MODULE…
//
// One process for all of them: most modules are small, and Binaryen itself, which is WebAssembly too, takes a second to be
// compiled. What it writes is what wasm-opt -Oz writes.
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , folder, ...modules] = process.argv;
const { default: binaryen } = await import(pathToFileURL(`${folder}/index.js`));

// Those that every browser with WebAssembly has had for years, and that the compiler uses.
const { Features } = binaryen;
const FEATURES =
  Features.BulkMemory |
  Features.BulkMemoryOpt |
  Features.CallIndirectOverlong |
  Features.Multivalue |
  Features.MutableGlobals |
  Features.NontrappingFPToInt |
  Features.ReferenceTypes |
  Features.SignExt;

// Size before speed, and once: more rounds take as long again, and gain nothing as Brotli.
binaryen.setOptimizeLevel(2);
binaryen.setShrinkLevel(2);
binaryen.setGenerateStackIR(true);
binaryen.setOptimizeStackIR(true);
binaryen.setDebugInfo(false);

for (const path of modules) {
  const module = binaryen.readBinary(readFileSync(path));
  module.setFeatures(FEATURES);
  module.optimize();
  module.runPasses(["strip-debug", "strip-producers", "strip-target-features"]);
  writeFileSync(path, module.emitBinary());
  module.dispose();
}
