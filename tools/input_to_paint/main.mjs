// How long the built site takes from an input to the next paint, control by control, beside the page of the workshop
// that it follows, in one run: only numbers of the same minutes on the same machine can be compared.
const USAGE = `
Before all: npm ci in this folder; Chromium is taken from CHROMIUM, /usr/bin/chromium if that is not set.

  node tools/input_to_paint/main.mjs DIST ORIGINAL
      DIST is the folder of the built site, ORIGINAL that of the workshop's pages, with max-local-batch-size.html.
      --pages memory,room     only these pages; home is the first
      --slower 4              so many times slower is the processor, 4 if not given
      --inputs 60             so many jumps and as many drags a control, 60 if not given
`;
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { serve } from '../compare_figures/serve.mjs';

/** The page of the workshop, its slider, and the fields of its calculator by those that mean the same here. */
const ORIGINAL = 'max-local-batch-size.html';
const ORIGINAL_SLIDER = '#bslider';
const FIELDS = new Map([
  ['#calculator-mem', '#calc-gpu'],
  ['#calculator-gpus', '#calc-ngpus'],
  ['#calculator-params', '#calc-N'],
  ['#calculator-hidden', '#calc-H'],
  ['#calculator-layers', '#calc-L'],
  ['#calculator-heads', '#calc-heads'],
  ['#calculator-s', '#calc-S'],
]);

/** The sliders that do what the workshop's own does, which should be at least as quick, and how far behind it the
 * other sliders and the fields may be at their 95th percentile. */
const SAME = ['#opening-batch', '#grow-batch'];
const ALLOWED = { slider: 1.3, field: 1.5 };

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { pages: { type: 'string' }, slower: { type: 'string' }, inputs: { type: 'string' } },
});
const [dist, original] = positionals;
if (!dist || !original) {
  console.error(USAGE);
  process.exit(2);
}
const slower = Number(options.slower ?? 4);
const inputs = Number(options.inputs ?? 60);

/** Makes inputs one after another and gives the milliseconds of each until the frame that shows it has been painted: a
 * message that is posted in the last callback before painting is received after it. It runs in the page. */
const measure = async ([selector, way, inputs]) => {
  const control = document.querySelector(selector);
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  const isSlider = control.type === 'range';
  const now = parseFloat(String(control.value).replaceAll(',', ''));
  const low = isSlider ? Number(control.min || 0) : Math.max(1, Math.round(now / 2));
  const high = isSlider ? Number(control.max || 100) : Math.max(low + 4, now * 2);
  const times = [];
  for (let at = 0; at < inputs; at++) {
    const part = way === 'drags' ? at % Math.max(1, high - low) : Math.round(((high - low) * ((at * 37) % 61)) / 60);
    await new Promise(requestAnimationFrame);
    const began = performance.now();
    if (control instanceof HTMLInputElement) {
      set.call(control, String(low + part));
      control.dispatchEvent(new Event('input', { bubbles: true }));
      control.dispatchEvent(new Event('change', { bubbles: true }));
    } else {
      const far = Math.floor(at / 16) % 2 ? 'ArrowLeft' : 'ArrowRight';
      const key = way === 'drags' ? far : at % 2 ? 'Home' : 'End';
      control.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    }
    await new Promise((done) =>
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = done;
        channel.port2.postMessage(0);
      }),
    );
    times.push(performance.now() - began);
    await new Promise((done) => setTimeout(done, 60));
  }
  return times;
};

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars'],
});
const [site, workshop] = [await serve(dist), await serve(original)];

/** A page that is there, with every figure of it, on a slow processor. */
async function opened(address) {
  const context = await browser.newContext({ viewport: { width: 412, height: 900 }, serviceWorkers: 'block' });
  const page = await context.newPage();
  await page.goto(address, { waitUntil: 'load' });
  // Figures out of sight come once the reader does something, which the program must be there to hear.
  const isComplete = () => {
    dispatchEvent(new Event('scroll'));
    return !document.querySelector('[data-figure]:not([data-mounted])');
  };
  await page.waitForFunction(isComplete, null, { timeout: 60000 });
  const cdp = await context.newCDPSession(page);
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: slower });
  return page;
}

/** All times of one control, after a few that warm up what is compiled as it runs. */
async function timed(page, selector) {
  await page.evaluate((selector) => {
    for (let fold = document.querySelector(selector).closest('details:not([open])'); fold; ) {
      fold.open = true;
      fold = fold.parentElement.closest('details:not([open])');
    }
  }, selector);
  await page.evaluate((selector) => document.querySelector(selector).scrollIntoView({ block: 'center' }), selector);
  await page.waitForTimeout(1500);
  await page.evaluate(measure, [selector, 'drags', 5]);
  const jumps = await page.evaluate(measure, [selector, 'jumps', inputs]);
  return jumps.concat(await page.evaluate(measure, [selector, 'drags', inputs]));
}

/** Median and 95th percentile. */
const summed = (times) => {
  const sorted = [...times].sort((one, other) => one - other);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)];
  return { median: at(0.5), high: at(0.95) };
};

const folders = (await readdir(dist, { withFileTypes: true })).filter((entry) => entry.isDirectory());
const isPage = (name) => stat(join(dist, name, 'index.html')).then(() => true, () => false);
const names = [''];
for (const { name } of folders) if (await isPage(name)) names.push(name);
const asked = options.pages?.split(',').map((name) => (name === 'home' ? '' : name));
const pages = names.filter((name) => asked?.includes(name) ?? true);

const rows = [];
/** Times of the workshop's controls. Its slider is measured again beside every page, because a machine is busier at
 * one time than at another. */
const theirs = new Map();
const add = (selector, times) => theirs.set(selector, (theirs.get(selector) ?? []).concat(times));

for (const name of pages) {
  const workshopPage = await opened(workshop.url + ORIGINAL);
  add(ORIGINAL_SLIDER, await timed(workshopPage, ORIGINAL_SLIDER));
  if (name === '') for (const field of FIELDS.values()) add(field, await timed(workshopPage, field));
  await workshopPage.context().close();

  const page = await opened(site.url + (name ? `${name}/` : ''));
  const sliders = await page.evaluate(() =>
    [...document.querySelectorAll('main [data-figure] :is(input[type=range], [role=slider])')].map((one) => {
      const figure = one.closest('[data-figure]').dataset.figure;
      return one.id ? `#${one.id}` : `[data-figure="${figure}"] [role=slider]`;
    }),
  );
  const isThere = (field) => page.evaluate((field) => !!document.querySelector(field), field);
  const fields = [];
  for (const field of FIELDS.keys()) if (await isThere(field)) fields.push(field);
  for (const control of [...sliders, ...fields]) {
    const at = control.startsWith('#') ? control.slice(1) : control.replace(/.*="(.*)"\].*/, '$1 (keys)');
    process.stderr.write(`/${name} ${at}\n`);
    const beside = FIELDS.get(control) ?? ORIGINAL_SLIDER;
    rows.push({ page: `/${name}`, at, beside, allowed: SAME.includes(control) ? 1 : FIELDS.has(control) ? ALLOWED.field : ALLOWED.slider, ...summed(await timed(page, control)) });
  }
  await page.context().close();
}
await Promise.all([browser.close(), site.stop(), workshop.stop()]);

const digits = (number) => number.toFixed(1).padStart(8);
console.log(`Input to paint in ms, ${2 * inputs} inputs each, processor ${slower} times slower; beside it the workshop's own page`);
console.log(`${'page'.padEnd(11)}${'control'.padEnd(24)}${'median'.padStart(8)}${'95th'.padStart(8)}  ${'beside'.padEnd(12)}${'median'.padStart(8)}${'95th'.padStart(8)}${'ratio'.padStart(8)}`);
for (const { page, at, beside, allowed, median, high } of rows) {
  const other = summed(theirs.get(beside));
  const ratio = high / other.high;
  const over = ratio > allowed ? `  more than ${allowed.toFixed(1)}` : '';
  console.log(
    page.padEnd(11) + at.padEnd(24) + digits(median) + digits(high) + '  ' + beside.padEnd(12) +
      digits(other.median) + digits(other.high) + ratio.toFixed(2).padStart(8) + over,
  );
}
