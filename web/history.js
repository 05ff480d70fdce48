// Rates over the last minutes, from counters that only grow.

/** The seconds that are kept: five minutes fit a chart with one point per second. */
export const SPAN = 300;
/** The longest time between two readings [s] for a rate; over a longer one it says too little. */
const GAP = 5;

/**
 * Readings of a set of counters, and the rates between them.
 *
 * An interval is {from, to, rates}: times in seconds, rates a Map of name to [1/s]. There is no
 * interval where the server did not answer or was restarted, or where two readings are too far
 * apart.
 */
export class History {
  constructor() {
    this.readings = [];  // {time, counters}, oldest first
    this.intervals = [];
  }

  /** `counters` is a Map of name to value. */
  add(time, counters) {
    const last = this.readings.at(-1);
    this.readings.push({time, counters});
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
    while (this.readings.length > 0 && this.readings[0].time < time - SPAN) this.readings.shift();
    while (this.intervals.length > 0 && this.intervals[0].to < time - SPAN) this.intervals.shift();
  }

  /** Returns the average rates of the last few seconds; an empty Map if there are none. */
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

  /** Returns how much each counter grew in about the last `seconds`. */
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
 * Returns a quantile of a histogram: the value below which `part` of it lies. `buckets` is [[upper
 * bound, count in the bucket]], in order. Interpolates between bounds. Returns NaN if the histogram is
 * empty, and the last finite bound if the value is beyond it.
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
