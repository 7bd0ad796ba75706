// Pictures of the figures, and sheets that lay two of them side by side.
import { access, mkdir, readFile, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { chosen, inParallel, launch } from './browser.mjs';
import { serve } from './serve.mjs';

/** A picture for each width and theme of each figure: FIGURE-WIDTH-THEME.png. */
export async function screenshots(dist, folder, names, { widths, themes, query, open, workers }) {
  const figures = await chosen(dist, names);
  await mkdir(folder, { recursive: true });
  const { url, stop } = await serve(dist);
  const browser = await launch();
  const script = await readFile(new URL('in_page.js', import.meta.url), 'utf8');
  const began = performance.now();
  let failed = 0;
  await inParallel(workers, figures, async (figure) => {
    for (const theme of themes) {
      const context = await browser.newContext({ reducedMotion: 'reduce', colorScheme: theme });
      const page = await context.newPage();
      await page.addInitScript(script);
      for (const width of widths) {
        try {
          await page.setViewportSize({ width, height: 900 });
          await page.goto(`${url}?embed=${figure}&theme=${theme}${query && '&'}${query}`, { waitUntil: 'load' });
          await page.waitForFunction((name) => window.compareFigures.ready(name), figure, { timeout: 10_000 });
          await page.evaluate(
            async ([figure, open]) => {
              const { settled, unfold } = window.compareFigures;
              await settled(5);
              if (open) await unfold(figure);
              await document.fonts.ready;
              await Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => {})));
              await settled();
            },
            [figure, open],
          );
          await page.screenshot({ path: join(folder, `${figure}-${width}-${theme}.png`), fullPage: true, animations: 'disabled' });
        } catch (error) {
          failed += 1;
          console.log(`${figure} at ${width}, ${theme}: FAILED: ${error.message.split('\n')[0]}`);
        }
      }
      await context.close();
    }
  });
  await browser.close();
  await stop();
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  console.log(`${figures.length * widths.length * themes.length - failed} pictures of ${figures.length} figures in ${seconds} s`);
  return failed === 0;
}

/** Runs in the page: lays out the pictures of one figure and counts the pixels that differ. */
async function layOut({ figure, pairs }) {
  const load = (source) =>
    new Promise((done) => {
      const image = new Image();
      image.onload = () => done(image);
      image.onerror = () => done(undefined);
      image.src = source;
    });
  const pixels = (image, width, height) => {
    const canvas = new OffscreenCanvas(width, height);
    const context = canvas.getContext('2d', { willReadFrequently: true });
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, width, height);
  };
  const told = [];
  document.body.replaceChildren();
  for (const { name, before, after } of pairs) {
    const [one, other] = await Promise.all([load(before), load(after)]);
    if (!one && !other) continue;
    const row = document.body.appendChild(document.createElement('section'));
    const title = row.appendChild(document.createElement('h2'));
    const [width, height] = [one, other].reduce(
      ([width, height], image) => [Math.max(width, image?.width ?? 0), Math.max(height, image?.height ?? 0)],
      [0, 0],
    );
    let verdict = one ? 'no picture after' : 'no picture before';
    let differing = width * height;
    const difference = document.createElement('canvas');
    if (one && other) {
      const [old, now] = [pixels(one, width, height), pixels(other, width, height)];
      const shown = new ImageData(width, height);
      differing = 0;
      for (let at = 0; at < old.data.length; at += 4) {
        const apart = [0, 1, 2, 3].reduce((most, part) => Math.max(most, Math.abs(old.data[at + part] - now.data[at + part])), 0);
        // What differs is red on a faint copy of what was.
        const faint = 255 - (255 - (old.data[at] + old.data[at + 1] + old.data[at + 2]) / 3) * 0.25;
        if (apart > 8) differing += 1;
        shown.data.set(apart > 8 ? [220, 0, 0, 255] : [faint, faint, faint, 255], at);
      }
      Object.assign(difference, { width, height });
      difference.getContext('2d').putImageData(shown, 0, 0);
      const share = ((100 * differing) / (width * height)).toFixed(2);
      const sizes = one.width === other.width && one.height === other.height ? '' : `, ${one.height} px became ${other.height} px high`;
      verdict = differing || sizes ? `${share} % of the pixels differ${sizes}` : 'the same';
    }
    title.textContent = `${figure} at ${name}: ${verdict} (before, after, difference)`;
    const line = row.appendChild(document.createElement('div'));
    // Three pictures of the widest window still fit.
    const scale = Math.min(1, 620 / width);
    for (const picture of [one, other, difference]) {
      if (!picture) continue;
      const [wide, high] = [picture.width * scale, picture.height * scale];
      picture.style.cssText = `width: ${wide}px; height: ${high}px`;
      line.append(picture);
    }
    told.push({ name, verdict, differing });
  }
  await new Promise(requestAnimationFrame);
  return { told, height: document.documentElement.scrollHeight };
}

const PAGE = `<!doctype html><style>
body { margin: 12px; font: 14px sans-serif; background: #889 }
h2 { font-size: 15px; margin: 12px 0 4px } div { display: flex; gap: 12px; align-items: start }
</style><body>`;

/** A sheet for each figure whose pictures differ, OUT-FIGURE.png; whether there is none. */
export async function sheets(before, after, out, names, { widths, themes, all, workers }) {
  const files = new Set([...(await readdir(before)), ...(await readdir(after))]);
  const ending = new RegExp(`-(${widths.join('|')})-(${themes.join('|')})\\.png$`);
  const found = new Set([...files].filter((file) => ending.test(file)).map((file) => file.replace(ending, '')));
  const figures = [...found].filter((figure) => !names.length || names.includes(figure)).sort();
  const browser = await launch();
  let differing = 0;
  const same = [];
  await inParallel(workers, figures, async (figure) => {
    const page = await browser.newPage({ viewport: { width: 1920, height: 900 } });
    const folders = { before: resolve(before), after: resolve(after) };
    await page.route('http://sheet.invalid/**', async (route) => {
      const [, which, file] = new URL(route.request().url()).pathname.split('/');
      if (!file) return route.fulfill({ contentType: 'text/html', body: PAGE });
      const path = join(folders[which], decodeURIComponent(file));
      const isThere = await access(path).then(
        () => true,
        () => false,
      );
      return isThere ? route.fulfill({ path }) : route.fulfill({ status: 404 });
    });
    await page.goto('http://sheet.invalid/');
    const pairs = widths.flatMap((width) =>
      themes.map((theme) => {
        const file = `${figure}-${width}-${theme}.png`;
        return { name: `${width} px, ${theme}`, before: `/before/${file}`, after: `/after/${file}` };
      }),
    );
    const { told, height } = await page.evaluate(layOut, { figure, pairs });
    const changed = told.filter(({ verdict }) => verdict !== 'the same');
    if (changed.length) differing += 1;
    else same.push(figure);
    if (changed.length || all) {
      const file = `${out}-${figure}.png`;
      // Chromium cannot make a picture that is higher than 16,384 pixels.
      await page.screenshot({ path: file, clip: { x: 0, y: 0, width: 1920, height: Math.min(height, 16_000) }, fullPage: true });
      console.log(`${file}\n${told.map(({ name, verdict }) => `    ${name}: ${verdict}`).join('\n')}`);
    }
    await page.close();
  });
  await browser.close();
  if (same.length) console.log(`The same at every width, in every theme: ${same.sort().join(', ')}`);
  console.log(`${differing} of ${figures.length} figures differ.`);
  return differing === 0;
}
