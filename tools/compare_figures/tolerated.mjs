// What may differ between two versions of a figure, because a reader does not see or hear it. `--strict` tolerates
// nothing of this.
//
// What is never recorded needs no rule here: comment nodes, elements that only wrap others, classes, attributes such as
// `data-out` and `data-in`, where the paths of a drawing run, the sentences that stood where a figure was to come
// (`.live-wait`), and whether a style stands in the element or in the style sheet under its `data-style`.

const RULES = {
  'white space': {
    text: (lines) => lines.map(plain),
    controls: (controls) => controls.map((one) => mapValues(one, (value) => (typeof value === 'string' ? plain(value) : value))),
    labels: (labels) => labels.map(plain),
    spoken: (spoken) => spoken.map(plain),
  },
  // A plot of another kind holds the same values if its table and the words in it are the same.
  'the kind of a drawing': {
    drawings: (drawings) => drawings.map(({ name, words }) => ({ name, words })),
  },
  'defaults that are written out': {
    controls: (controls) => controls.map((one) => (one.role === 'slider' ? { ...one, ...defaults(one) } : one)),
  },
  // There is a place for something to be spoken, and nothing in it.
  'silence': {
    spoken: (spoken) => spoken.filter((one) => !/^\w+:$/.test(one.trim())),
  },
};

/** Names for tests may be added; that one is gone is told. */
const MAY_BE_ADDED = new Set(['testids']);

const plain = (text) => text.replace(/\s+/g, ' ').trim();
const mapValues = (object, change) => Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
const defaults = ({ min = '0', max = '100', step = '1' }) => ({ min, max, step });

/** The value without what is tolerated. */
export function withoutTolerated(kind, value) {
  if (value === undefined) return value;
  return Object.values(RULES).reduce((value, rule) => rule[kind]?.(value) ?? value, value);
}

/** What of `after` counts beside `before`. */
export function withoutAdded(kind, before, after) {
  if (!MAY_BE_ADDED.has(kind) || !before || !after) return after;
  const left = new Map();
  for (const one of before) left.set(one, (left.get(one) ?? 0) + 1);
  return after.filter((one) => {
    const count = left.get(one) ?? 0;
    left.set(one, count - 1);
    return count > 0;
  });
}
