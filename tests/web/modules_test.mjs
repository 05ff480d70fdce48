// The dashboard's modules that need no browser.
import assert from 'node:assert/strict';
import test from 'node:test';

import {areas, gaps, niceCeiling} from '../../web/chart.js';
import * as format from '../../web/format.js';
import {History, SPAN, quantile} from '../../web/history.js';
import {parse, single} from '../../web/prometheus.js';
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
  assert.equal(history.now(100).size, 0);
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
  for (let time = 0; time < 2 * SPAN; ++time) history.add(time, new Map([['a', time]]));
  assert.ok(history.readings.length <= SPAN + 1);
  assert.ok(history.intervals.length <= SPAN + 1);
});

test('the present is an average of the last seconds', () => {
  const history = new History();
  [0, 0, 0, 10, 30].forEach((value, time) => history.add(time, new Map([['a', value]])));
  assert.equal(history.now(4, 2).get('a'), 10);
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
