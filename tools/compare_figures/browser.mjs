// Chromium as the recordings and the screenshots need it.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--force-color-profile=srgb'],
  });
}

/** The figures of a built page in the order of the largest markup: whoever starts with those is done first. */
export async function figuresOf(folder) {
  const html = await readFile(join(folder, 'index.html'), 'utf8');
  const pieces = html.split(/<figure\b[^>]*\bid=["']?embed-/).slice(1);
  const sizes = pieces.map((piece) => [/^[\w-]+/.exec(piece)[0], piece.indexOf('</figure>')]);
  return sizes.sort((one, other) => other[1] - one[1]).map(([name]) => name);
}

/** The asked figures, or all of them. */
export async function chosen(folder, names) {
  const all = await figuresOf(folder);
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length) throw new Error(`No such figure: ${unknown.join(', ')}. There are ${all.join(', ')}.`);
  return names.length ? all.filter((name) => names.includes(name)) : all;
}

/** Hands the jobs to `count` workers, which take the next when they are done with one. */
export async function inParallel(count, jobs, work) {
  const left = [...jobs];
  const worker = async (number) => {
    for (let job = left.shift(); job !== undefined; job = left.shift()) await work(job, number);
  };
  await Promise.all(Array.from({ length: Math.min(count, jobs.length) }, (_, number) => worker(number)));
}
