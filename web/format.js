// Numbers and times as text, with their units.

const UNITS = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4, 'k']];

function digits(value, most) {
  return value.toLocaleString('en', {maximumFractionDigits: most});
}

/** About three significant digits: 0.25, 12.3, 1,234, 45.6 k, 1.2 M. */
export function number(value) {
  if (!Number.isFinite(value)) return '–';
  for (const [size, unit] of UNITS) {
    if (value >= size) {
      const scale = unit === 'k' ? 1e3 : size;
      return `${digits(value / scale, value / scale < 100 ? 1 : 0)} ${unit}`;
    }
  }
  if (value >= 100) return digits(value, 0);
  return digits(value, value < 10 ? 2 : 1);
}

/** A whole number with all digits. */
export function count(value) {
  return Number.isFinite(value) ? digits(value, 0) : '–';
}

/** counted(1, 'key') is "1 key", counted(2, 'key') is "2 keys". */
export function counted(value, noun, nouns = `${noun}s`) {
  return `${count(value)} ${value === 1 ? noun : nouns}`;
}

export function rate(value) {
  return Number.isFinite(value) ? `${number(value)} /s` : '–';
}

export function percent(part) {
  if (!Number.isFinite(part)) return '–';
  const value = part * 100;
  if (value > 0 && value < 0.01) return '< 0.01';
  return digits(value, value < 1 ? 2 : value < 10 ? 1 : 0);
}

/** [figure, unit] of a time in seconds. */
export function latency(seconds) {
  if (!Number.isFinite(seconds)) return ['–', ''];
  for (const [size, unit] of [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs']]) {
    if (seconds >= size) return [digits(seconds / size, seconds / size < 10 ? 1 : 0), unit];
  }
  return [digits(seconds * 1e9, 0), 'ns'];
}

export function bytes(value) {
  for (const [size, unit] of [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']]) {
    if (value >= size) return `${digits(value / size, 1)} ${unit}`;
  }
  return `${count(value)} bytes`;
}

const SPANS = [[604800e9, 'week'], [86400e9, 'day'], [3600e9, 'hour'], [60e9, 'minute'],
               [1e9, 'second'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

/** A window [ns] as it follows "per": minute, 10 seconds, 250 ms. */
export function window(ns) {
  const [size, unit] = SPANS.find(([size]) => ns >= size && ns % size === 0) ?? [1, 'ns'];
  const times = ns / size;
  if (times === 1 && size >= 1e9) return unit;
  return `${count(times)} ${unit}${size >= 1e9 && times !== 1 ? 's' : ''}`;
}

/** "100 requests per minute", "1 request per day", "5 at a time", "unlimited". */
export function quota(policy) {
  if (policy.quota === null) return 'unlimited';
  if (policy.window_ns === null) return `${count(policy.quota)} at a time`;
  const unit = policy.unit.replaceAll('-', ' ');
  const units = policy.quota === 1 ? unit.replace(/s$/, '') : unit;
  return `${count(policy.quota)} ${units} per ${window(policy.window_ns)}`;
}

/** "12 s ago". */
export function ago(seconds) {
  const whole = Math.round(seconds);
  if (whole < 1) return 'now';
  if (whole < 90) return `${whole} s ago`;
  if (whole < 5400) return `${Math.round(whole / 60)} min ago`;
  return `${Math.round(whole / 3600)} h ago`;
}

const LENGTHS = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];

/** How long something lasts: "12 s", "5 min", "3 h 12 min", "4 d 2 h". */
export function duration(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const i = LENGTHS.findIndex(([size]) => whole >= size);
  if (i < 0) return '0 s';
  const [size, unit] = LENGTHS[i];
  const [next, nextUnit] = LENGTHS[i + 1] ?? [];
  const rest = next ? Math.floor(whole % size / next) : 0;
  return `${Math.floor(whole / size)} ${unit}` + (rest > 0 ? ` ${rest} ${nextUnit}` : '');
}

/** A Unix time [s]: "2026-01-31 12:00 UTC". */
export function time(seconds) {
  const date = new Date(seconds * 1000);
  // A calendar that goes further says nothing.
  if (Number.isNaN(date.getTime())) return 'never';
  return `${date.toISOString().slice(0, -8).replace('T', ' ')} UTC`;
}
