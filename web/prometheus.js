// Reads Prometheus' text format.

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPED = {n: '\n', '\\': '\\', '"': '"'};

/** Returns the samples of a text: a Map from a metric's name to [{labels, value}]. */
export function parse(text) {
  const metrics = new Map();
  for (const line of text.split('\n')) {
    const sample = SAMPLE.exec(line);
    if (!sample) continue;  // a comment or an empty line
    const labels = {};
    for (const [, name, value] of (sample[2] ?? '').matchAll(LABEL)) {
      labels[name] = value.replace(/\\(.)/g, (all, c) => ESCAPED[c] ?? all);
    }
    if (!metrics.has(sample[1])) metrics.set(sample[1], []);
    metrics.get(sample[1]).push({labels, value: Number(sample[3].replace('+Inf', 'Infinity'))});
  }
  return metrics;
}

/** Returns the value of a metric with one sample; NaN if the metric is missing. */
export function single(metrics, name) {
  return metrics.get(name)?.[0]?.value ?? NaN;
}
