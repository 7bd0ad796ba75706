// Makes WebAssembly modules smaller, each in its place: node tools/optimize.mjs BINARYEN MODULE…
//
// One process for all of them: most modules are small, and Binaryen itself, which is WebAssembly too, takes a second to be
// compiled.
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

// The reader waits for what Brotli makes of a module, and what makes a module smaller can make that larger: level 2 of size
// before speed, a variable for a value that is wanted twice, and a list of pieces in place of the zeros between data.
binaryen.setOptimizeLevel(3);
binaryen.setShrinkLevel(1);
binaryen.addPassToSkip("local-cse");
binaryen.addPassToSkip("memory-packing");
binaryen.setGenerateStackIR(true);
binaryen.setOptimizeStackIR(true);

// What Brotli makes smaller. How an access is aligned is a hint, which no engine of today takes. Functions with like names
// have like bodies, and lie beside each other.
const COMPRESSING = ["dealign", "reorder-functions-by-name"];

for (const path of modules) {
  const module = binaryen.readBinary(readFileSync(path));
  module.setFeatures(FEATURES);
  // The names are needed until the functions have been ordered by them.
  binaryen.setDebugInfo(true);
  module.optimize();
  module.runPasses([...COMPRESSING, "strip-debug", "strip-producers", "strip-target-features"]);
  binaryen.setDebugInfo(false);
  writeFileSync(path, module.emitBinary());
  module.dispose();
}
