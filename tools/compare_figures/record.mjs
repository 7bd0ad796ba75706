// Records what every figure shows, in many configurations and after its controls were used.
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chosen, inParallel, launch } from './browser.mjs';
import { LINKS, USED } from './links.mjs';
import { serve } from './serve.mjs';

const WINDOW = { width: 1024, height: 900 };
/** A phone, where drawings have fewer ticks and rows break. */
const NARROW = { width: 360, height: 780 };
/** Longer than any figure takes, in milliseconds. */
const PATIENCE = 10_000;
/** Frames without a change after which a figure shows what its link asks. */
const TAKEN_OVER = 5;

/** A file of JSON Lines: a text or a table that many states share is written once and named by its digest. */
class Recording {
  #lines;
  #known = new Set();
  states = 0;

  constructor(parts) {
    this.#lines = [JSON.stringify({ parts })];
  }

  #name(value) {
    const text = JSON.stringify(value);
    if (text.length < 80) return value;
    const digest = createHash('sha256').update(text).digest('base64url').slice(0, 16);
    if (!this.#known.has(digest)) {
      this.#known.add(digest);
      this.#lines.push(`{"is":"${digest}","value":${text}}`);
    }
    return { is: digest };
  }

  add(state, record, errors) {
    const named = { state };
    for (const [kind, value] of Object.entries({ ...record, errors })) named[kind] = this.#name(value);
    this.#lines.push(JSON.stringify(named));
    this.states += 1;
  }

  write(file) {
    return writeFile(file, this.#lines.join('\n') + '\n');
  }
}

/** One figure in one page of the browser. */
class Viewer {
  #errors = [];

  constructor(page, url, figure) {
    Object.assign(this, { page, url, figure });
    page.on('pageerror', (error) => this.#errors.push(String(error.message)));
    page.on('console', (message) => message.type() === 'error' && this.#errors.push(message.text()));
  }

  /** What went wrong since it was last asked. */
  errors() {
    return this.#errors.splice(0);
  }

  async open(query) {
    await this.page.goto(`${this.url}?embed=${this.figure}${query && '&'}${query}`, { waitUntil: 'commit' });
    await this.page.waitForFunction((name) => window.compareFigures?.ready(name), this.figure, { timeout: PATIENCE });
    // A figure that is taken over first shows the default, and then what the link asks.
    await this.page.evaluate((frames) => window.compareFigures.settled(frames), TAKEN_OVER);
  }

  call(name, ...rest) {
    return this.page.evaluate(([name, ...rest]) => window.compareFigures[name](...rest), [name, this.figure, ...rest]);
  }
}

/** The parts of a recording, by the first word of a state's name. */
export const PARTS = {
  /** Every configuration, as a link opens it. */
  async link(viewer, add) {
    for (const [name, query] of Object.entries(LINKS)) {
      await viewer.open(query);
      add(name, await viewer.call('record'));
    }
  },

  /** Some of them on a phone. */
  async narrow(viewer, add) {
    await viewer.page.setViewportSize(NARROW);
    for (const name of USED) {
      await viewer.open(LINKS[name]);
      add(name, await viewer.call('record'));
    }
    await viewer.page.setViewportSize(WINDOW);
  },

  /** The same configurations in a row, as a figure hears of them that is there already. */
  async message(viewer, add) {
    await viewer.open('');
    await viewer.call('record');
    for (const [name, query] of Object.entries(LINKS)) {
      await viewer.page.evaluate((scenario) => window.postMessage({ bmax: 1, type: 'set', scenario }, '*'), query);
      add(name, await viewer.call('record'));
    }
  },

  /** Every control in all its ways, each from the start. */
  async use(viewer, add) {
    const [start] = USED;
    await viewer.open(LINKS[start]);
    for (const key of await viewer.call('actors')) {
      await viewer.open(LINKS[start]);
      for (const { step, made } of await viewer.call('use', key)) add(`${key}: ${step}`, made);
    }
  },

  /** All controls in a row, nothing put back. */
  async row(viewer, add) {
    for (const link of USED) {
      await viewer.open(LINKS[link]);
      const there = await viewer.call('actors');
      const used = [];
      // Some controls bring others, which are used in their turn. From the first link what was changed is put back as
      // soon as there is a button for it, from the others in the end.
      while (used.length < 400) {
        const next = await viewer.call('useNext', used, link === USED[0] ? null : there);
        if (!next) break;
        used.push(next.key);
        add(`${link}: ${next.key}: ${next.step}`, next.made);
      }
    }
  },
};

export async function record(dist, folder, names, { workers, parts }) {
  const figures = await chosen(dist, names);
  await mkdir(folder, { recursive: true });
  const { url, stop } = await serve(dist);
  const browser = await launch();
  const script = await readFile(new URL('in_page.js', import.meta.url), 'utf8');
  const began = performance.now();
  let failed = 0;
  await inParallel(workers, figures, async (figure) => {
    // Less motion: a search that plays by the clock would be recorded wherever it happened to be.
    const context = await browser.newContext({ viewport: WINDOW, reducedMotion: 'reduce', colorScheme: 'light' });
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: url });
    const page = await context.newPage();
    await page.addInitScript(script);
    const viewer = new Viewer(page, url, figure);
    const recording = new Recording(parts);
    const start = performance.now();
    let end = 'done';
    try {
      for (const part of parts) {
        await PARTS[part](viewer, (state, made) => recording.add(`${part}: ${state}`, made, viewer.errors()));
      }
    } catch (error) {
      failed += 1;
      end = `FAILED: ${error.message.split('\n')[0]}`;
      recording.add('failed', { text: [end] }, viewer.errors());
    }
    await recording.write(join(folder, `${figure}.jsonl`));
    await context.close();
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(`${figure}: ${recording.states} states in ${seconds} s, ${end}`);
  });
  await browser.close();
  await stop();
  console.log(`${figures.length} figures in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  return failed === 0;
}
