// Rates over the last minutes, from counters that only grow.

/** The seconds that are kept: five minutes fit a chart with one point per second. */
export const SPAN = 300;
/** The longest time between two readings [s] for a rate; over a longer one it says too little. */
const GAP = 5;
/** The most characters of a saved history: browsers keep about 5 million for all pages of an origin. */
export const SAVED_MAX = 2_000_000;

/**
 * The rates between readings of a set of counters.
 *
 * An interval is {from, to, rates}: Unix times in seconds, rates a Map of name to [1/s] without those
 * that are 0. There is no interval where the server did not answer or was restarted, or where two
 * readings are too far apart.
 */
export class History {
  constructor() {
    this.intervals = [];
    this.last = undefined;      // {time, counters} of the last reading
    this.restored = false;      // whether `last` was read by a former page
    this.began = undefined;     // time of the first reading
  }

  /** `counters` is a Map of name to value. */
  add(time, counters) {
    const {last} = this;
    const restarted = last && [...counters].some(([name, value]) => value < (last.counters.get(name) ?? 0));
    if (this.restored && (restarted || time < last.time)) this.clear();
    this.restored = false;
    if (last && !restarted && time > last.time && time - last.time <= GAP) {
      const rates = new Map();
      for (const [name, value] of counters) {
        const grown = value - (last.counters.get(name) ?? 0);
        if (grown > 0) rates.set(name, grown / (time - last.time));
      }
      this.intervals.push({from: last.time, to: time, rates});
    }
    this.last = {time, counters};
    this.began ??= time;
    while (this.intervals.length > 0 && this.intervals[0].to < time - SPAN) this.intervals.shift();
  }

  clear() {
    this.intervals = [];
    this.began = undefined;
  }

  /** Returns the average rates of the last few seconds; undefined if nothing was read then. */
  now(time, seconds = 3) {
    const recent = this.intervals.filter(({from}) => from >= time - seconds - 1);
    if (recent.length === 0) return undefined;
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

  /** Returns how much each counter grew in about the last `seconds`; undefined if nothing was read then. */
  growth(time, seconds) {
    let grown;
    for (const {from, to, rates} of this.intervals) {
      if (from < time - seconds) continue;
      grown ??= new Map();
      for (const [name, rate] of rates) {
        grown.set(name, (grown.get(name) ?? 0) + rate * (to - from));
      }
    }
    return grown;
  }

  /**
   * Returns a text from which restore() makes the same history, with rates of three digits. It has at
   * most SAVED_MAX characters: the oldest intervals are left out. Returns undefined if there is nothing to
   * save, or if it would not fit. `server` identifies the run of the server, as for restore().
   */
  save(server) {
    if (!this.last) return undefined;
    const numbers = new Map();  // name -> its place in `names`
    const names = [];
    const numberOf = name => {
      if (!numbers.has(name)) numbers.set(name, names.push(name) - 1);
      return numbers.get(name);
    };
    const flat = (values, round) => [...values].flatMap(([name, value]) => [numberOf(name), round(value)]);
    const {time, counters} = this.last;
    const head = {server, began: this.began, time,
                  counters: flat([...counters].filter(([, value]) => value !== 0), value => value)};
    const kept = [];
    // Interval by interval, the latest first: names that only older ones have may not fit any more.
    let left = SAVED_MAX - JSON.stringify({...head, names, intervals: []}).length;
    for (const {from, to, rates} of this.intervals.toReversed()) {
      const known = names.length;
      const text = JSON.stringify([from, to, ...flat(rates, rate => Number(rate.toPrecision(3)))]);
      left -= text.length + 1 + JSON.stringify(names.slice(known)).length;
      if (left < 0) {
        names.length = known;
        break;
      }
      kept.unshift(text);
    }
    const text = `${JSON.stringify({...head, names}).slice(0, -1)},"intervals":[${kept.join(',')}]}`;
    return text.length <= SAVED_MAX ? text : undefined;
  }

  /** Goes on with a saved history, unless it is damaged or that of another run of the server. */
  restore(text, server) {
    try {
      const {server: of, began, time, names, counters, intervals} = JSON.parse(text);
      if (of !== server) return;
      const named = (flat, first) => {
        const values = new Map();
        for (let i = first; i < flat.length; i += 2) values.set(names[flat[i]], flat[i + 1]);
        return values;
      };
      const restored = intervals.map(all => ({from: all[0], to: all[1], rates: named(all, 2)}));
      this.last = {time, counters: named(counters, 0)};
      this.intervals = restored;
      this.began = began;
      this.restored = true;
    } catch {
      // Whatever it is, it is no history.
    }
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
