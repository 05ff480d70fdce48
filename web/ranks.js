// The busiest and the most denied clients.

import {element} from './dom.js';
import * as format from './format.js';

/** The policies that a client's row names; a longer list says little. */
const NAMED = 4;

/** Returns what to call a key, in words if it is empty. `keyOf`: a policy's key as in the policy file. */
export function keyWords({key, policy}, keyOf) {
  if (keyOf(policy) === '[]') return 'everyone';
  return key === '' ? '(no key)' : key;
}

/**
 * Makes one client of all partitions that have the same key under several policies. A client's figures are
 * those of the policy that counts it most: one request may count under each of them.
 *
 * Returns [{words, per_second, at_most_per_second, shadow_per_second, partitions}], the first ones being the
 * heaviest, as in `partitions`.
 */
export function clients(partitions, keyOf) {
  const groups = new Map();
  for (const partition of partitions) {
    const words = keyWords(partition, keyOf);
    // Requests without a key have only that in common. `client` stands for a key that is not shown.
    const same = partition.key === '' && words !== 'everyone' ? ['none', partition.policy]
        : words === 'everyone' ? ['everyone'] : ['key', partition.client ?? partition.key];
    const group = JSON.stringify(same);
    if (!groups.has(group)) groups.set(group, {...partition, words, partitions: []});
    groups.get(group).partitions.push(partition);
  }
  return [...groups.values()];
}

function policiesOf({partitions}) {
  const aside = element('span', {class: 'aside'});
  for (const [i, {policy, key, per_second, shadow_per_second}] of partitions.slice(0, NAMED).entries()) {
    const rate = partitions.length > 1 ? ` ${format.rate(per_second)}` : '';
    const shadow = shadow_per_second > 0 ? ', shadow' : '';
    aside.append(i > 0 ? ' · ' : '', element('span', {title: key || undefined}, policy + rate + shadow));
  }
  const more = partitions.length - NAMED;
  if (more > 0) aside.append(` · and ${format.counted(more, 'policy', 'policies')} more`);
  return aside;
}

function bar(kind, from, to) {
  const made = element('span', {class: `rank-bar ${kind}`, 'aria-hidden': 'true'});
  made.style.left = `${(100 * from).toFixed(1)}%`;
  made.style.width = `${(100 * (to - from)).toFixed(1)}%`;
  return made;
}

/** Shows at most `length` clients. `kind`: 'busiest' or 'denied'. */
export function showRanks(list, kind, all, length, ifEmpty) {
  const shown = all.slice(0, length);
  const highest = Math.max(...shown.map(({per_second}) => per_second));
  const rows = shown.map(client => {
    const {per_second, at_most_per_second, shadow_per_second = 0} = client;
    const end = per_second / highest;
    const enforced = (per_second - Math.min(per_second, shadow_per_second)) / highest;
    const bars = [];
    if (enforced > 0) bars.push(bar(kind, 0, enforced));
    if (enforced < end) bars.push(bar('shadow-denied', enforced, end));
    // The server only has bounds: mark a lower one.
    const least = at_most_per_second > per_second * 1.05 ? '≥ ' : '';
    return element('li', {}, ...bars, element('span', {class: 'key'}, client.words), policiesOf(client),
                   element('span', {class: 'amount'}, least + format.rate(per_second)));
  });
  if (rows.length === 0) rows.push(element('li', {class: 'empty'}, ifEmpty));
  list.replaceChildren(...rows);
}
