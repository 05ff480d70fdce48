// What was seen over the last minutes, from counters that only grow.

/** Seconds that are kept. */
export const SPAN = 300;
/** Seconds between two looks after which nobody can say what happened in between. */
const GAP = 5;

/**
 * Looks at a set of counters, and the rates between them.
 *
 * An interval is {from, to, rates}: times in seconds, rates a Map of name to [1/s]. There is none
 * where the server was away, was started anew, or nobody looked for too long.
 */
export class History {
  constructor() {
    this.looks = [];  // {time, counters}, oldest first
    this.intervals = [];
  }

  /** `counters` is a Map of name to value. */
  add(time, counters) {
    const last = this.looks.at(-1);
    this.looks.push({time, counters});
    if (last && time > last.time && time - last.time <= GAP) {
      const rates = new Map();
      let restarted = false;
      for (const [name, value] of counters) {
        const before = last.counters.get(name) ?? 0;
        if (value < before) restarted = true;
        rates.set(name, (value - before) / (time - last.time));
      }
      if (!restarted) this.intervals.push({from: last.time, to: time, rates});
    }
    while (this.looks.length > 0 && this.looks[0].time < time - SPAN) this.looks.shift();
    while (this.intervals.length > 0 && this.intervals[0].to < time - SPAN) this.intervals.shift();
  }

  /** Rates of the last few seconds, averaged; an empty Map if there are none. */
  now(time, seconds = 3) {
    const recent = this.intervals.filter(({from}) => from >= time - seconds - 1);
    const length = recent.reduce((sum, {from, to}) => sum + to - from, 0);
    const rates = new Map();
    for (const interval of recent) {
      for (const [name, rate] of interval.rates) {
        const part = rate * (interval.to - interval.from) / length;
        rates.set(name, (rates.get(name) ?? 0) + part);
      }
    }
    return rates;
  }

  /** How much each counter grew in about the last `seconds`. */
  growth(time, seconds) {
    const grown = new Map();
    for (const {from, to, rates} of this.intervals) {
      if (from < time - seconds) continue;
      for (const [name, rate] of rates) {
        grown.set(name, (grown.get(name) ?? 0) + rate * (to - from));
      }
    }
    return grown;
  }
}

/**
 * The value below which `part` of a histogram lies, from [[upper bound, count in the bucket]] in
 * order; between bounds it is interpolated. NaN if it is empty, the last finite bound if it lies
 * beyond.
 */
export function quantile(buckets, part) {
  const all = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (!(all > 0)) return NaN;
  let left = part * all;
  let lower = 0;
  for (const [upper, count] of buckets) {
    if (upper === Infinity) return lower;
    if (left <= count && count > 0) return lower + (upper - lower) * left / count;
    left -= count;
    lower = upper;
  }
  return lower;
}
