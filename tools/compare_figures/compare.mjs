// Says where two recordings differ, figure by figure, in as few lines as say it.
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { withoutAdded, withoutTolerated } from './tolerated.mjs';

/** A recording: its parts, and its states by name, in order, with everything that was named by a digest in its place. */
async function read(folder, figure) {
  const file = await readFile(join(folder, `${figure}.jsonl`), 'utf8').catch(() => undefined);
  if (file === undefined) return undefined;
  const values = new Map();
  const states = new Map();
  const parts = [];
  for (const line of file.split('\n').filter(Boolean)) {
    const one = JSON.parse(line);
    if (one.parts) parts.push(...one.parts);
    else if (one.is) values.set(one.is, one.value);
    else states.set(states.has(one.state) ? `${one.state} (again)` : one.state, one);
  }
  const value = (named) => (named?.is ? values.get(named.is) : named);
  return { parts, states, value };
}

// --- Differences of one kind of thing, as short sentences --------------------------------------------------------

const quoted = (value) => (value === undefined ? 'nothing' : typeof value === 'string' ? `“${value}”` : JSON.stringify(value));
const short = (text, most = 160) => (text.length > most ? `${text.slice(0, most)}…` : text);

/** The steps that make `after` of `before`: [from, to, from, to] of what is replaced. Undefined if it is nearly all. */
function replaced(before, after, most = 300) {
  // Myers 1986, "An O(ND) difference algorithm": the farthest point on every diagonal, edit by edit.
  const [rows, columns] = [before.length, after.length];
  const reach = new Map([[1, 0]]);
  const trace = [];
  for (let edits = 0; edits <= Math.min(most, rows + columns); edits++) {
    trace.push(new Map(reach));
    for (let k = -edits; k <= edits; k += 2) {
      const isDown = k === -edits || (k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
      let x = isDown ? reach.get(k + 1) : reach.get(k - 1) + 1;
      let y = x - k;
      while (x < rows && y < columns && before[x] === after[y]) [x, y] = [x + 1, y + 1];
      reach.set(k, x);
      if (x >= rows && y >= columns) return path(trace, rows, columns);
    }
  }
  return undefined;
}

function path(trace, rows, columns) {
  const pieces = [];
  let [x, y] = [rows, columns];
  for (let edits = trace.length - 1; edits > 0; edits--) {
    const reach = trace[edits];
    const k = x - y;
    const isDown = k === -edits || (k !== edits && (reach.get(k - 1) ?? -1) < (reach.get(k + 1) ?? -1));
    const from = isDown ? k + 1 : k - 1;
    const fromX = reach.get(from);
    const fromY = fromX - from;
    // The edit itself stands before the equal stretch that follows it.
    const [editX, editY] = isDown ? [fromX, fromY + 1] : [fromX + 1, fromY];
    const next = pieces[0];
    if (next && next[0] === editX && next[2] === editY) [next[0], next[2]] = [fromX, fromY];
    else pieces.unshift([fromX, editX, fromY, editY]);
    [x, y] = [fromX, fromY];
  }
  return pieces;
}

/** What differs between two lists of words, each with the words around it. */
function wordsDiffer(before, after) {
  const pieces = replaced(before, after);
  if (!pieces) return [`nearly everything: ${before.length} words became ${after.length}; it begins “${short(after.join(' '), 60)}”`];
  return pieces.map(([from, to, fromAfter, toAfter]) => {
    const lead = before.slice(Math.max(0, from - 4), from).join(' ');
    const rest = before.slice(to, to + 3).join(' ');
    const [old, now] = [before.slice(from, to).join(' '), after.slice(fromAfter, toAfter).join(' ')];
    return `…${lead} [${short(old) || '∅'} → ${short(now) || '∅'}] ${rest}…`;
  });
}

/** What differs between two lists whose members are sentences. */
function listsDiffer(before, after) {
  const pieces = replaced(before, after);
  if (!pieces) return [`nearly everything: ${before.length} became ${after.length}`];
  return pieces.flatMap(([from, to, fromAfter, toAfter]) => {
    const [old, now] = [before.slice(from, to), after.slice(fromAfter, toAfter)];
    return Array.from({ length: Math.max(old.length, now.length) }, (_, at) => {
      if (old[at] === undefined) return `new: ${short(now[at])}`;
      if (now[at] === undefined) return `gone: ${short(old[at])}`;
      // Of two long sentences only the words that differ.
      if (old[at].length + now[at].length < 160) return `${old[at]} → ${now[at]}`;
      return wordsDiffer(old[at].split(' '), now[at].split(' ')).join('; ');
    });
  });
}

/** Numbers the names that come more than once. */
function keyed(list, name) {
  const seen = new Map();
  return new Map(
    list.map((one) => {
      const key = name(one);
      const count = (seen.get(key) ?? 0) + 1;
      seen.set(key, count);
      return [count === 1 ? key : `${key} #${count}`, one];
    }),
  );
}

function controlsDiffer(before, after, ignored) {
  const name = ({ role, name, group }) => `${role} “${short(name, 60)}”${group ? ` in “${short(group, 40)}”` : ''}`;
  const [old, now] = [keyed(before, name), keyed(after, name)];
  const found = [];
  for (const [key, one] of old) {
    const other = now.get(key);
    if (!other) {
      found.push(`gone: ${key}`);
      continue;
    }
    for (const property of new Set([...Object.keys(one), ...Object.keys(other)])) {
      if (ignored.has(property) || JSON.stringify(one[property]) === JSON.stringify(other[property])) continue;
      const changes =
        property === 'options'
          ? listsDiffer(one.options ?? [], other.options ?? [])
          : [`${short(quoted(one[property]))} → ${short(quoted(other[property]))}`];
      found.push(...changes.map((change) => `${key}, ${property}: ${change}`));
    }
  }
  for (const key of now.keys()) if (!old.has(key)) found.push(`new: ${key}`);
  const [order, orderNow] = [[...old.keys()].filter((key) => now.has(key)), [...now.keys()].filter((key) => old.has(key))];
  const at = order.findIndex((key, at) => key !== orderNow[at]);
  if (at >= 0) found.push(`order: ${order[at]} stood where ${orderNow[at]} stands`);
  return found;
}

function tablesDiffer(before, after) {
  const found = [];
  if (before.length !== after.length) found.push(`${before.length} tables became ${after.length}`);
  for (const [at, table] of before.entries()) {
    const other = after[at];
    if (!other) continue;
    const name = `“${short(table.caption, 50)}”`;
    if (table.caption !== other.caption) found.push(...wordsDiffer(table.caption.split(' '), other.caption.split(' ')));
    if (table.rows.length !== other.rows.length) found.push(`${name}: ${table.rows.length} rows became ${other.rows.length}`);
    for (const [row, cells] of table.rows.entries()) {
      const others = other.rows[row];
      if (!others) break;
      for (let column = 0; column < Math.max(cells.length, others.length); column++) {
        if (cells[column] === others[column]) continue;
        const place = `row “${short(cells[0] ?? '', 30)}”, column ${column + 1}`;
        found.push(`${name}, ${place}: ${short(quoted(cells[column]), 80)} → ${short(quoted(others[column]), 80)}`);
      }
    }
  }
  return found;
}

/** What of one list is not in the other, each as often as it is too many. */
function without(list, other) {
  const left = [...other];
  return list.filter((one) => {
    const at = left.indexOf(one);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

function drawingsDiffer(before, after) {
  const found = [];
  if (before.length !== after.length) found.push(`${before.length} drawings became ${after.length}`);
  for (const [at, one] of before.entries()) {
    const other = after[at];
    if (!other) continue;
    const name = `drawing ${at + 1} “${short(one.name, 40)}”`;
    for (const property of ['kind', 'name', 'paths', 'dots']) {
      if (one[property] !== other[property]) found.push(`${name}, ${property}: ${one[property]} → ${other[property]}`);
    }
    // Together: the ticks of an axis come and go in groups.
    const [gone, added] = [without(one.words, other.words), without(other.words, one.words)];
    if (gone.length) found.push(`${name}, words gone: ${gone.join(', ')}`);
    if (added.length) found.push(`${name}, new words: ${added.join(', ')}`);
  }
  return found;
}

function variablesDiffer(before, after) {
  const found = [];
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, now] = [before[name] ?? [], after[name] ?? []];
    if (JSON.stringify(old) === JSON.stringify(now)) continue;
    const list = (values) => short(values.join(' '), 70) || 'nothing';
    found.push(`${name}: ${old.length} values, ${list(old)} → ${now.length} values, ${list(now)}`);
  }
  return found;
}

const DIFFER = {
  text: (before, after) => wordsDiffer(before.join(' ').split(' '), after.join(' ').split(' ')),
  controls: controlsDiffer,
  tables: tablesDiffer,
  drawings: drawingsDiffer,
  variables: variablesDiffer,
  labels: listsDiffer,
  spoken: listsDiffer,
  testids: listsDiffer,
  folds: listsDiffer,
  focus: (before, after) => [`${before} → ${after}`],
  notices: listsDiffer,
  errors: listsDiffer,
};

// --- All of it ---------------------------------------------------------------------------------------------------

/** The same difference in many states is one line: numbers aside, what is said is the same. */
class Found {
  #lines = new Map();

  add(kind, text, state) {
    const key = `${kind} ${text.replace(/\d[\d,.]*/g, '#')}`;
    const line = this.#lines.get(key) ?? { kind, text, states: new Set() };
    line.states.add(state);
    this.#lines.set(key, line);
  }

  /** The lines, those of the most states first within a kind. */
  sorted() {
    return [...this.#lines.values()].sort((one, other) => other.states.size - one.states.size);
  }
}

const normal = (kind, value) => JSON.stringify(kind === 'text' ? value?.join(' ') : value);

/** Both values without what may differ. */
function comparable(kind, before, after, strict) {
  if (strict) return [before, after];
  const [one, other] = [before, after].map((value) => withoutTolerated(kind, value));
  return [one, withoutAdded(kind, one, other)];
}

function compareFigure(before, after, { ignored, strict }) {
  const found = new Found();
  const differing = new Set();
  const parts = before.parts.filter((part) => after.parts.includes(part));
  const isShared = (state) => !state.includes(': ') || parts.includes(state.slice(0, state.indexOf(': ')));
  const known = new Map();
  const states = [...before.states.keys()].filter(isShared);
  for (const state of states) {
    const [old, now] = [before.states.get(state), after.states.get(state)];
    if (!now) {
      // A recording that failed ends there.
      if (!after.states.has('failed')) found.add('states', `gone: ${state}`, state);
      differing.add(state);
      continue;
    }
    for (const kind of new Set([...Object.keys(old), ...Object.keys(now)])) {
      if (kind === 'state' || ignored.has(kind) || JSON.stringify(old[kind]) === JSON.stringify(now[kind])) continue;
      // The same two values are compared once.
      const pair = JSON.stringify([kind, old[kind], now[kind]]);
      if (!known.has(pair)) {
        const [one, other] = comparable(kind, before.value(old[kind]), after.value(now[kind]), strict);
        const isSame = normal(kind, one) === normal(kind, other);
        if (isSame) known.set(pair, []);
        else if (one === undefined || other === undefined) known.set(pair, [`${quoted(one)} → ${quoted(other)}`]);
        else known.set(pair, DIFFER[kind](one, other, ignored));
      }
      for (const text of known.get(pair)) {
        found.add(kind, text, state);
        differing.add(state);
      }
    }
  }
  for (const state of after.states.keys()) {
    if (isShared(state) && !before.states.has(state)) {
      const text = state === 'failed' ? after.value(after.states.get(state).text).join(' ') : `new: ${state}`;
      found.add('states', text, state);
      differing.add(state);
    }
  }
  return { lines: found.sorted(), states: states.length, differing: differing.size };
}

/** Prints the differences; whether there are none. `most` lines are printed of each kind of a figure. */
export async function compare(beforeFolder, afterFolder, names, { ignored, most, strict }) {
  const listed = async (folder) =>
    (await readdir(folder)).filter((file) => file.endsWith('.jsonl')).map((file) => file.slice(0, -'.jsonl'.length));
  const figures = names.length ? names : [...new Set([...(await listed(beforeFolder)), ...(await listed(afterFolder))])].sort();
  const totals = { figures: 0, states: 0, differing: 0 };
  const alike = [];
  for (const figure of figures) {
    const [before, after] = await Promise.all([read(beforeFolder, figure), read(afterFolder, figure)]);
    if (!before || !after) {
      console.log(`${figure}: not in ${before ? afterFolder : beforeFolder}`);
      totals.figures += 1;
      continue;
    }
    const { lines, states, differing } = compareFigure(before, after, { ignored, strict });
    totals.states += states;
    totals.differing += differing;
    if (!lines.length) {
      alike.push(`${figure} (${states})`);
      continue;
    }
    totals.figures += 1;
    console.log(`\n${figure}: ${differing} of ${states} states differ`);
    const kinds = new Set(['errors', 'states', ...lines.map(({ kind }) => kind)]);
    for (const kind of kinds) {
      const ofKind = lines.filter((line) => line.kind === kind);
      for (const { text, states } of ofKind.slice(0, most)) {
        console.log(`  ${kind}: ${text}\n      in ${states.size}, first ${[...states][0]}`);
      }
      if (ofKind.length > most) console.log(`  ${kind}: and ${ofKind.length - most} more like these`);
    }
  }
  if (alike.length) console.log(`\nNo difference, with the number of states: ${alike.join(', ')}`);
  const counts = `${totals.differing} of ${totals.states} states`;
  console.log(`\n${totals.figures} of ${figures.length} figures differ, ${counts}.`);
  return totals.figures === 0;
}
