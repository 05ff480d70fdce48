// The latency of each door, over the last minute.

import {bucketName} from './counters.js';
import {element} from './dom.js';
import * as format from './format.js';
import {quantile} from './history.js';

const LATENCY_SPAN = 60;  // [s]
/** The room for a bar's label, "500 µs", and a space [px]. */
const LABEL_WIDTH = 52;

/** Returns for each door: {door, buckets: [[bound, count]], count, p50, p90, p99}. */
export function latencies(doors, history, now) {
  const grown = history.growth(now, LATENCY_SPAN);
  return [...doors].map(([door, bounds]) => {
    const buckets = bounds.map(bound => [bound, grown?.get(bucketName(door, bound)) ?? 0]);
    const count = buckets.reduce((sum, [, n]) => sum + n, 0);
    return {door, buckets, count, p50: quantile(buckets, 0.5), p90: quantile(buckets, 0.9),
            p99: quantile(buckets, 0.99)};
  });
}

/** Returns bars for the histogram's buckets that are not empty, and one more on each side. */
function histogram(buckets, width) {
  const used = buckets.map(([, n], i) => n >= 0.5 ? i : -1).filter(i => i >= 0);
  const first = Math.max(0, used[0] - 1);
  const shown = buckets.slice(first, used.at(-1) + 2);
  const highest = Math.max(...shown.map(([, n]) => n));
  const all = buckets.reduce((sum, [, n]) => sum + n, 0);
  const every = Math.max(1, Math.ceil(LABEL_WIDTH * shown.length / width));
  return element('ul', {class: 'bars', 'aria-label': 'Share of decisions by latency'},
                 ...shown.map(([bound, n], i) => {
    const label = bound === Infinity ? 'more' : format.latency(bound).join(' ');
    const bar = element('span', {class: 'bar', 'aria-hidden': 'true'});
    bar.style.height = `${Math.round(40 * n / highest)}px`;
    const share = `${bound === Infinity ? 'more' : `up to ${label}`}: ${format.percent(n / all)} %`;
    return element('li', {title: share}, bar,
                   element('span', {class: 'bound', 'aria-hidden': 'true'}, i % every === 0 && i + every <= shown.length ? label : ''),
                   element('span', {class: 'hidden'}, share));
  }));
}

/** `open`: a door's open connections. */
export function showDoors(container, all, open) {
  container.replaceChildren(...all.map(({door, buckets, count, p50, p90, p99}) => {
    const connections = open.has(door) ? `${format.counted(open.get(door), 'connection')} open` : '';
    const head = element('p', {class: 'door-head'}, element('span', {class: 'name'}, door),
                         element('span', {class: 'small'}, connections));
    if (!(count >= 1)) {
      return element('div', {class: 'door'}, head, element('p', {class: 'small'}, 'Nothing was asked.'));
    }
    const facts = element('dl', {class: 'facts'});
    for (const [name, value] of [['p50', p50], ['p90', p90], ['p99', p99]]) {
      facts.append(element('div', {}, element('dt', {}, name),
                           element('dd', {}, format.latency(value).join(' '))));
    }
    return element('div', {class: 'door'}, head, facts, histogram(buckets, container.clientWidth));
  }));
}
