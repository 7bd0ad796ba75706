// Proves that every figure of a built page shows what it showed before.
const USAGE = `
Before all: npm ci in this folder; Chromium is taken from CHROMIUM, /usr/bin/chromium if that is not set.

  node tools/compare_figures/main.mjs compare DIST
      records what the figures of the page in DIST show, and prints where that differs from before; 1 if it does.
      DIST may be a folder of recordings, too.
      --parts link,narrow,message,use,row
                                     only these: every link, some of them on a phone, all as messages to a figure that
                                     is there already, every control by itself, all controls in a row
      --keep FOLDER                  keeps the new recordings
      --ignore KIND,…                leaves out kinds (text, folds, focus, …) or properties of controls (id, …)
      --most N                       lines for each kind of a figure, 8 if not given
      --strict                       tolerates nothing, see tolerated.mjs
  node tools/compare_figures/main.mjs sheets DIST FOLDER
      takes pictures of the figures at three widths, light and dark, into FOLDER, and lays each beside that from before,
      with the difference: FOLDER/sheet-FIGURE.png for each figure whose pictures differ.
      --all                          a sheet for every figure
      --widths 360,768,1440   --themes light,dark

What was before is made from the old page, once:

  node tools/compare_figures/main.mjs record DIST BEFORE/recording
  node tools/compare_figures/main.mjs screenshots DIST BEFORE/shots
      --query QUERY                  of another configuration than the default
      --open                         with everything unfolded

All take
      --only FIGURE,…                these figures, all of them if not given
      --before BEFORE                where recording/ and shots/ are; "before" beside the repository if not given
      --workers N                    figures at a time, 2 if not given
`;
import { access, mkdtemp, rm } from 'node:fs/promises';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compare } from './compare.mjs';
import { screenshots, sheets } from './pictures.mjs';
import { PARTS, record } from './record.mjs';

const BESIDE_THE_REPOSITORY = fileURLToPath(new URL('../../../before', import.meta.url));

const list = (text) => text.split(',').filter(Boolean);
const isThere = (path) =>
  access(path).then(
    () => true,
    () => false,
  );

/** A recording of what `dist` holds is compared with that from before. */
async function recordAndCompare(dist, asked) {
  const before = join(asked.before, 'recording');
  if (!(await isThere(before))) throw new Error(`${before} is not there: record the old page, or say where --before is.`);
  if (!(await isThere(join(dist, 'index.html')))) return compare(before, dist, asked.only, asked);
  const folder = asked.keep || (await mkdtemp(join(tmpdir(), 'compare-figures-')));
  const isRecorded = await record(dist, folder, asked.only, asked);
  const isSame = await compare(before, folder, asked.only, asked);
  if (!asked.keep) await rm(folder, { recursive: true });
  return isRecorded && isSame;
}

async function takeAndLayOut(dist, folder, asked) {
  const areTaken = await screenshots(dist, folder, asked.only, asked);
  const areSame = await sheets(join(asked.before, 'shots'), folder, join(folder, 'sheet'), asked.only, asked);
  return areTaken && areSame;
}

const COMMANDS = {
  compare: { takes: 1, run: ([dist], asked) => recordAndCompare(dist, asked) },
  sheets: { takes: 2, run: ([dist, folder], asked) => takeAndLayOut(dist, folder, asked) },
  record: { takes: 2, run: ([dist, folder], asked) => record(dist, folder, asked.only, asked) },
  screenshots: { takes: 2, run: ([dist, folder], asked) => screenshots(dist, folder, asked.only, asked) },
};

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      only: { type: 'string', default: '' },
      before: { type: 'string', default: BESIDE_THE_REPOSITORY },
      workers: { type: 'string', default: '2' },
      parts: { type: 'string', default: Object.keys(PARTS).join(',') },
      keep: { type: 'string', default: '' },
      ignore: { type: 'string', default: '' },
      most: { type: 'string', default: '8' },
      strict: { type: 'boolean', default: false },
      query: { type: 'string', default: '' },
      open: { type: 'boolean', default: false },
      all: { type: 'boolean', default: false },
      widths: { type: 'string', default: '360,768,1440' },
      themes: { type: 'string', default: 'light,dark' },
    },
  });
  const [name, ...rest] = positionals;
  const command = COMMANDS[name];
  if (command?.takes !== rest.length) throw new Error(USAGE);
  const parts = list(values.parts);
  const unknown = parts.filter((part) => !PARTS[part]);
  if (unknown.length) throw new Error(`No such part: ${unknown.join(', ')}. There are ${Object.keys(PARTS).join(', ')}.`);
  // Others work on the same machine; the browser inherits this.
  setPriority(10);
  return command.run(rest, {
    ...values,
    parts,
    only: list(values.only),
    ignored: new Set(list(values.ignore)),
    most: Number(values.most),
    workers: Number(values.workers),
    widths: list(values.widths).map(Number),
    themes: list(values.themes),
  });
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 2;
}
