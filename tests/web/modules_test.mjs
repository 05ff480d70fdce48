// The dashboard's modules that need no browser.
import assert from 'node:assert/strict';
import test from 'node:test';

import {areas, gaps, niceCeiling} from '../../web/chart.js';
import {decisionName, readCounters, requestName} from '../../web/counters.js';
import * as format from '../../web/format.js';
import {History, SAVED_MAX, SPAN, quantile} from '../../web/history.js';
import {search, sort} from '../../web/policies.js';
import {parse, single} from '../../web/prometheus.js';
import {clients, keyWords} from '../../web/ranks.js';
import {Unauthorised, getText, keepToken} from '../../web/server.js';

test('metrics are read, labels with everything in them', () => {
  const metrics = parse('# HELP a Text.\n# TYPE a counter\n' +
                        'a{policy="x\\"y\\\\z\\n{}, =",outcome="denied"} 12\na{policy="",outcome="b"} 0\n' +
                        'b 1.5\nc_bucket{le="+Inf"} 3\n\nnot a sample at all\n');
  assert.deepEqual(metrics.get('a'), [
    {labels: {policy: 'x"y\\z\n{}, =', outcome: 'denied'}, value: 12},
    {labels: {policy: '', outcome: 'b'}, value: 0},
  ]);
  assert.equal(single(metrics, 'b'), 1.5);
  assert.deepEqual(metrics.get('c_bucket'), [{labels: {le: '+Inf'}, value: 3}]);
  assert.ok(Number.isNaN(single(metrics, 'missing')));
  assert.equal(metrics.size, 3);
});

test('rates are those between two readings', () => {
  const history = new History();
  history.add(10, new Map([['a', 100]]));
  history.add(12, new Map([['a', 110], ['new', 4]]));
  assert.deepEqual(history.intervals, [{from: 10, to: 12, rates: new Map([['a', 5], ['new', 2]])}]);
  assert.equal(history.now(12).get('a'), 5);
  assert.equal(history.growth(12, 60).get('a'), 10);
});

test('times without a sample are gaps', () => {
  const history = new History();
  history.add(0, new Map([['a', 0]]));
  history.add(100, new Map([['a', 1000]]));
  assert.deepEqual(history.intervals, []);
  assert.equal(history.now(100), undefined);
});

test('a server that was started anew makes a gap, not a negative rate', () => {
  const history = new History();
  history.add(0, new Map([['a', 1000]]));
  history.add(1, new Map([['a', 3]]));
  history.add(2, new Map([['a', 5]]));
  assert.deepEqual(history.intervals.map(({from, rates}) => [from, rates.get('a')]), [[1, 2]]);
});

test('the past is dropped', () => {
  const history = new History();
  for (let time = 0; time < 2 * SPAN; ++time) history.add(time, new Map([['a', time], ['quiet', 7]]));
  assert.deepEqual([...history.intervals.at(-1).rates.keys()], ['a'], 'what did not change takes no memory');
  assert.ok(history.intervals.length <= SPAN + 1);
});

test('the present is an average of the last seconds', () => {
  const history = new History();
  [0, 0, 0, 10, 30].forEach((value, time) => history.add(time, new Map([['a', value]])));
  assert.equal(history.now(4, 2).get('a'), 10);
});

function filled(seconds, names = 1, began = 1_700_000_000) {
  const history = new History();
  for (let i = 0; i <= seconds; ++i) {
    history.add(began + i, new Map(Array.from({length: names}, (_, n) => [`counter ${n}`, 12345.678 * (n + 1) * i])));
  }
  return history;
}

test('a saved history goes on', () => {
  const before = filled(10, 2);
  const {time} = before.last;
  const after = new History();
  after.restore(before.save('run 1'), 'run 1');
  after.add(time + 2, new Map([['counter 0', 12345.678 * 10 + 4], ['counter 1', 12345.678 * 20]]));
  assert.equal(after.intervals.length, 11);
  assert.deepEqual(after.intervals[0].rates, new Map([['counter 0', 12300], ['counter 1', 24700]]));
  assert.equal(after.intervals.at(-1).from, time);
  assert.ok(Math.abs(after.intervals.at(-1).rates.get('counter 0') - 2) < 1e-6);
  assert.equal(after.began, before.began);
});

test('the history of a server that was restarted meanwhile is dropped', () => {
  const before = filled(10);
  const other = new History();
  other.restore(before.save('run 1'), 'run 2');
  assert.deepEqual([other.intervals, other.last], [[], undefined]);

  const same = new History();  // an old server does not say when it was started
  same.restore(before.save('unknown'), 'unknown');
  same.add(before.last.time + 1, new Map([['counter 0', 5]]));
  assert.deepEqual(same.intervals, []);
  same.add(before.last.time + 2, new Map([['counter 0', 6]]));
  assert.equal(same.intervals.length, 1);

  const earlier = new History();  // the clock was set back
  earlier.restore(before.save('unknown'), 'unknown');
  earlier.add(before.last.time - 100, new Map([['counter 0', 1e9]]));
  assert.deepEqual(earlier.intervals, []);
});

test('a saved history has a bounded size, and the latest of it', () => {
  const before = filled(SPAN, 3000);
  const text = before.save('run 1');
  assert.ok(text.length <= SAVED_MAX && text.length > SAVED_MAX / 2, text.length);
  const after = new History();
  after.restore(text, 'run 1');
  assert.ok(after.intervals.length > 10 && after.intervals.length < SPAN);
  assert.deepEqual(after.intervals.at(-1).to, before.intervals.at(-1).to);
  assert.equal(filled(1, 200_000).save('run 1'), undefined);
  assert.equal(new History().save('run 1'), undefined);
});

test('what is no history is ignored', () => {
  for (const text of ['', '{', 'null', '{"server":"a"}', '{"server":"a","names":[],"counters":[],"intervals":5}']) {
    const history = new History();
    history.restore(text, 'a');
    assert.deepEqual([history.intervals, history.last], [[], undefined], text);
  }
});

test('requests are counted beside decisions', () => {
  const decisions = 'headgate_decisions_total{policy="a",outcome="denied"} 10\n' +
                    'headgate_decisions_total{policy="b",outcome="denied"} 20\n' +
                    'headgate_throttle_decisions_total{outcome="denied"} 3\n';
  const old = readCounters(parse(decisions));
  assert.equal(old.ofRequests, false);
  assert.equal(old.counters.get(requestName('denied')), 33);
  const now = readCounters(parse(`headgate_requests_total{outcome="denied"} 20\n${decisions}`));
  assert.equal(now.ofRequests, true);
  assert.equal(now.counters.get(requestName('denied')), 23);
  assert.equal(now.counters.get(requestName('admitted')), 0);
  assert.equal(now.counters.get(decisionName('b', 'denied')), 20);
  assert.deepEqual([now.throttles, now.doors.size], [true, 0]);
});

const row = (policy, key, per_second, more = {}) => ({policy, key, per_second, at_most_per_second: per_second, ...more});

test('one client has one row', () => {
  const keyOf = () => '[address]';
  const grouped = clients([row('a', 'x', 9), row('b', 'x', 8), row('a', 'y', 7), row('c', 'x', 1)], keyOf);
  assert.deepEqual(grouped.map(({words, per_second, partitions}) => [words, per_second, partitions.map(({policy}) => policy)]),
                   [['x', 9, ['a', 'b', 'c']], ['y', 7, ['a']]]);
  // Each policy has another hash for the same key.
  const opaque = clients([row('a', ':1=:', 9, {client: 'c1'}), row('b', ':2=:', 8, {client: 'c1'}),
                          row('a', ':3=:', 7, {client: 'c2'})], keyOf);
  assert.deepEqual(opaque.map(({words, partitions}) => [words, partitions.length]), [[':1=:', 2], [':3=:', 1]]);
});

test('requests without a key are not everyone', () => {
  const keyOf = policy => ({global: '[]', users: '[header:x-user]', teams: '[header:x-team]'})[policy];
  assert.equal(keyWords({key: '', policy: 'global'}, keyOf), 'everyone');
  assert.equal(keyWords({key: ':AbC=:', policy: 'global'}, keyOf), 'everyone');
  assert.equal(keyWords({key: '', policy: 'users'}, keyOf), '(no key)');
  assert.equal(keyWords({key: '', policy: 'unknown'}, keyOf), '(no key)');
  // What has no user and what has no team need not be the same client.
  assert.equal(clients([row('users', '', 3), row('teams', '', 2), row('global', '', 1)], keyOf).length, 3);
});

test('policies are found by all words, and sorted', () => {
  const policies = [['b', 10, 1e9], ['A', 5, 1e9], ['c', null, null], ['d', 10, 100e9]].map(([name, quota, window_ns]) => (
      {name, quota, window_ns, key: '[address]', match: `{path: /${name}}`, mode: 'enforce', algorithm: 'linear', unit: 'requests'}));
  const names = found => found.map(({name}) => name).join('');
  assert.equal(names(search(policies, '')), 'bAcd');
  assert.equal(names(search(policies, ' ADDRESS  path:\t/a ')), 'A');
  assert.equal(names(search(policies, 'nowhere')), '');
  const ratesOf = name => ({admitted: {b: 1, c: 1}[name] ?? 0, denied: {d: 2}[name] ?? 0, 'shadow-denied': {b: 3}[name] ?? 0});
  assert.equal(names(sort(policies, undefined, false, ratesOf)), 'bAcd');
  assert.equal(names(sort(policies, 'name', false, ratesOf)), 'Abcd');
  assert.equal(names(sort(policies, 'name', true, ratesOf)), 'dcbA');
  assert.equal(names(sort(policies, 'quota', false, ratesOf)), 'cbAd');
  assert.equal(names(sort(policies, 'admitted', false, ratesOf)), 'bcAd');
  assert.equal(names(sort(policies, 'denied', false, ratesOf)), 'bdAc');
});

test('quantiles are interpolated between bounds', () => {
  const buckets = [[1, 0], [2, 50], [5, 50], [Infinity, 0]];
  assert.equal(quantile(buckets, 0.5), 2);
  assert.equal(quantile(buckets, 0.25), 1.5);
  assert.equal(quantile(buckets, 1), 5);
  assert.equal(quantile([[1, 1], [Infinity, 99]], 0.99), 1);
  assert.ok(Number.isNaN(quantile([[1, 0]], 0.5)));
});

test('areas break where something was not seen', () => {
  const points = [{from: 0, to: 1, values: [1]}, {from: 1, to: 2, values: [1]},
                  {from: 5, to: 6, values: [1]}];
  const [path] = areas(points, 1, time => time, value => value);
  assert.equal(path.match(/M/g).length, 2);
  assert.deepEqual(gaps(points, -1, 7), [[-1, 0], [2, 5], [6, 7]]);
});

test('layers are stacked', () => {
  const [, upper] = areas([{from: 0, to: 1, values: [3, 4]}], 2, time => time, value => value);
  assert.ok(upper.startsWith('M0.0 7.0'));
  assert.ok(upper.includes('3.0'));
});

test('axes end at round numbers', () => {
  assert.deepEqual([0, 0.3, 1, 1.1, 4, 7, 99, 100, 101].map(niceCeiling),
                   [1, 0.5, 1, 2, 5, 10, 100, 100, 200]);
});

test('numbers are short', () => {
  assert.deepEqual([0, 0.123, 9.87, 12.34, 1234, 45678, 1.2e6, 3e12, NaN].map(format.number),
                   ['0', '0.12', '9.87', '12.3', '1,234', '45.7 k', '1.2 M', '3 T', '–']);
  assert.equal(format.rate(12.34), '12.3 /s');
  assert.deepEqual([0, 1, 2000].map(value => format.counted(value, 'override')),
                   ['0 overrides', '1 override', '2,000 overrides']);
  assert.equal(format.counted(2, 'policy', 'policies'), '2 policies');
});

test('shares, times and sizes have their units', () => {
  assert.deepEqual([0, 0.00001, 0.0044, 0.5, NaN].map(format.percent),
                   ['0', '< 0.01', '0.44', '50', '–']);
  assert.deepEqual([3e-9, 1.5e-6, 42e-6, 0.0025, 2, NaN].map(value => format.latency(value).join(' ')),
                   ['3 ns', '1.5 µs', '42 µs', '2.5 ms', '2 s', '– ']);
  assert.deepEqual([512, 65536, 64 * 2 ** 20].map(format.bytes), ['512 bytes', '64 KiB', '64 MiB']);
  assert.deepEqual([0, 12, 300, 7200].map(format.ago), ['now', '12 s ago', '5 min ago', '2 h ago']);
});

test('quotas are sentences', () => {
  const quota = (quota, window_ns, unit = 'requests') => format.quota({quota, window_ns, unit});
  assert.equal(quota(100, 60e9), '100 requests per minute');
  assert.equal(quota(5, 10e9), '5 requests per 10 seconds');
  assert.equal(quota(1000000, 250e6, 'content-bytes'), '1,000,000 content bytes per 250 ms');
  assert.equal(quota(3, null, 'concurrent-requests'), '3 at a time');
  assert.equal(quota(null, null), 'unlimited');
  assert.equal(quota(1, 86400e9), '1 request per day');
});

test('times that last have one or two units', () => {
  assert.deepEqual([-1, 0, 12, 300, 312, 11520, 352800].map(format.duration),
                   ['0 s', '0 s', '12 s', '5 min', '5 min 12 s', '3 h 12 min', '4 d 2 h']);
});

test('times are in UTC', () => {
  assert.equal(format.time(1769860800), '2026-01-31 12:00 UTC');
  assert.equal(format.time(999999999999999), 'never');
});

test('a refusal of a former token is asked again with the present one', async () => {
  const kept = new Map();
  globalThis.sessionStorage = {getItem: name => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value)};
  globalThis.fetch = async (path, {headers}) => {
    const right = headers.Authorization === 'Bearer right';
    if (!right) keepToken('right');  // while the server looks at the wrong one
    return {status: right ? 200 : 401, ok: right, text: async () => 'metrics'};
  };
  keepToken('wrong');
  assert.equal(await getText('/metrics'), 'metrics');
  globalThis.fetch = async () => ({status: 401, ok: false});
  await assert.rejects(getText('/metrics'), Unauthorised);
});
