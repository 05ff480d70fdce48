// Reads Prometheus' text format.

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPED = {n: '\n', '\\': '\\', '"': '"'};

/** The samples of a text: a Map from a metric's name to [{labels, value}]. */
export function parse(text) {
  const metrics = new Map();
  for (const line of text.split('\n')) {
    const sample = SAMPLE.exec(line);
    if (!sample) continue;  // a comment, or empty
    const labels = {};
    for (const [, name, value] of (sample[2] ?? '').matchAll(LABEL)) {
      labels[name] = value.replace(/\\(.)/g, (all, c) => ESCAPED[c] ?? all);
    }
    if (!metrics.has(sample[1])) metrics.set(sample[1], []);
    metrics.get(sample[1]).push({labels, value: Number(sample[3].replace('+Inf', 'Infinity'))});
  }
  return metrics;
}

/** The value of a metric that has one sample; NaN if it is not there. */
export function single(metrics, name) {
  return metrics.get(name)?.[0]?.value ?? NaN;
}
