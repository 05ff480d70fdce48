// Reads the server's state once per second and shows it.

import {FlowChart, spark, svg} from './chart.js';
import * as format from './format.js';
import {History, SPAN, quantile} from './history.js';
import {parse, single} from './prometheus.js';
import {Forbidden, Unauthorised, getJson, getText, hasToken, keepToken} from './server.js';

const OUTCOMES = ['admitted', 'denied', 'shadow-denied'];
// The policy name of decisions whose limit was in the request: CL.THROTTLE.
const THROTTLE = 'throttle';
const LATENCY_SPAN = 60;
const OVERRIDES_SHOWN = 100;

const byId = id => document.getElementById(id);
const seconds = () => performance.now() / 1000;

/** Creates an element with text, never with markup: clients choose names and keys. */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function setText(id, text) {
  const target = byId(id);
  if (target.textContent !== text) target.textContent = text;
}

/** Shows [name, value, whether it is bad]. */
function showFacts(id, facts) {
  byId(id).replaceChildren(...facts.map(([name, value, bad]) =>
      element('div', {class: bad ? 'bad' : undefined}, element('dt', {}, name),
              element('dd', {}, value))));
}

const decisionName = (policy, outcome) => JSON.stringify([policy, outcome]);
const withoutRedisName = policy => JSON.stringify(['without Redis', policy]);
const ROUND_TRIPS = 'headgate_redis_round_trips_total';
const bucketName = (door, bound) => JSON.stringify(['took', door, bound]);

class Dashboard {
  constructor() {
    this.history = new History();
    this.doors = new Map();     // name -> bounds of its histogram
    this.policies = [];         // of /v1/policies
    this.reading = undefined;   // which reloads and overrides `policies` were read with
    this.rows = new Map();      // policy -> parts of its table row
    this.seen = undefined;      // time of the last response [s]
    this.began = seconds();
    this.flow = new FlowChart(byId('flow'), {
      classes: OUTCOMES, span: SPAN, format: format.number,
      label: 'Decisions per second over the last five minutes',
      describe: (point, age) => this.describe(point, age),
    });
    byId('flow-policy').addEventListener('change', () => this.showFlow());
    byId('token-form').addEventListener('submit', event => {
      event.preventDefault();
      keepToken(byId('token').value.trim());
      this.read();
    });
  }

  async read() {
    try {
      const [metrics, top] = await Promise.all([getText('metrics'), getJson('v1/top?n=10')]);
      this.take(parse(metrics));
      if (this.reading !== this.readingNow) {
        this.inForce = await getJson('v1/policies');
        this.policies = this.inForce.policies;
        this.layOutPolicies();
        this.layOutOverrides(await this.overrides());
        this.reading = this.readingNow;
      }
      this.seen = seconds();
      byId('token-form').hidden = true;
      this.show(top);
      this.showStatus('live');
    } catch (error) {
      if (error instanceof Unauthorised) {
        byId('token-fault').textContent = hasToken() ? 'It does not take this one.' : '';
        byId('token-form').hidden = false;
        this.showStatus('locked');
      } else {
        // A restarted server may have other policies.
        this.reading = undefined;
        this.showStatus('away', error);
      }
      this.showFlow();
    }
  }

  // ---- figures from the counters

  take(metrics) {
    const counters = new Map();
    for (const {labels, value} of metrics.get('headgate_decisions_total') ?? []) {
      counters.set(decisionName(labels.policy, labels.outcome), value);
    }
    for (const {labels, value} of metrics.get('headgate_throttle_decisions_total') ?? []) {
      counters.set(decisionName(THROTTLE, labels.outcome), value);
      this.throttles ||= value > 0;
    }
    for (const {labels, value} of metrics.get('headgate_decisions_without_redis_total') ?? []) {
      counters.set(withoutRedisName(labels.policy), value);
    }
    if (metrics.has(ROUND_TRIPS)) counters.set(ROUND_TRIPS, single(metrics, ROUND_TRIPS));
    this.doors.clear();
    const below = new Map();
    for (const {labels, value} of metrics.get('headgate_decision_duration_seconds_bucket') ?? []) {
      const bound = Number(labels.le.replace('+Inf', 'Infinity'));
      if (!this.doors.has(labels.door)) this.doors.set(labels.door, []);
      this.doors.get(labels.door).push(bound);
      counters.set(bucketName(labels.door, bound), value - (below.get(labels.door) ?? 0));
      below.set(labels.door, value);
    }
    this.history.add(seconds(), counters);
    this.metrics = metrics;
    this.readingNow = `${single(metrics, 'headgate_reloads_total')} ` +
                      `${single(metrics, 'headgate_override_changes_total')}`;
  }

  /** Returns the overrides; none if there are none, or if the token may not see them. */
  async overrides() {
    const count = (this.metrics.get('headgate_overrides') ?? [])
        .reduce((sum, {value}) => sum + value, single(this.metrics, 'headgate_overrides_left_out'));
    if (!(count > 0)) return [];  // NaN: nginx has none
    try {
      return (await getJson('v1/overrides')).overrides;
    } catch (error) {
      if (error instanceof Forbidden) return [];
      throw error;
    }
  }

  /** Returns the points of one policy, or of all: [{from, to, values: [of each outcome]}]. */
  points(policy) {
    const names = policy ? [policy] : this.names();
    return this.history.intervals.map(({from, to, rates}) => ({
      from, to, values: OUTCOMES.map(outcome => names.reduce(
          (sum, name) => sum + (rates.get(decisionName(name, outcome)) ?? 0), 0)),
    }));
  }

  names() {
    const names = this.policies.map(({name}) => name);
    return this.throttles && !names.includes(THROTTLE) ? [...names, THROTTLE] : names;
  }

  /** Returns the rates of the last seconds, of one policy or of all: {admitted, denied, shadow-denied}. */
  ratesNow(policy) {
    const rates = this.history.now(seconds());
    const names = policy ? [policy] : this.names();
    return Object.fromEntries(OUTCOMES.map(outcome => [
      outcome,
      rates.size === 0 ? NaN
                       : names.reduce((sum, name) => sum + (rates.get(decisionName(name, outcome)) ?? 0), 0),
    ]));
  }

  // ---- showing them

  show(top) {
    this.showTiles();
    this.showFlow();
    this.showRedis();
    this.showPolicies();
    this.showDoors();
    this.showTable();
    this.showRanks('most-denied', top.most_denied, 'No client was denied lately.');
    this.showRanks('busiest', top.busiest, 'No requests lately.');
    byId('keys-note').hidden =
        top.keys !== 'opaque' || top.busiest.length + top.most_denied.length === 0;
    const reloads = single(this.metrics, 'headgate_reloads_total');
    const refused = single(this.metrics, 'headgate_refused_reloads_total');
    setText('footer', `${this.inForce.file}, read ${format.count(reloads + 1)} ` +
                      `${reloads === 0 ? 'time' : 'times'}` +
                      (refused > 0 ? `; ${format.count(refused)} refused: see the server's log` : ''));
  }

  showStatus(state) {
    const status = byId('status');
    status.dataset.state = state;
    document.body.dataset.state = state;
    const since = this.seen === undefined ? 'so far' : `last seen ${format.ago(seconds() - this.seen)}`;
    setText('status-text', {live: 'Live', locked: 'Token wanted',
                            away: `The server does not answer, ${since}`}[state]);
    byId('main').inert = state === 'locked';
  }

  showTiles() {
    const now = this.ratesNow();
    const all = now.admitted + now.denied + now['shadow-denied'];
    setText('decisions', format.number(all));
    setText('decisions-note', `of ${this.names().length} ` +
                              (this.names().length === 1 ? 'policy' : 'policies'));
    setText('denied', format.number(now.denied));
    setText('denied-note', all > 0 ? `${format.percent(now.denied / all)} % of all` +
                                     (now['shadow-denied'] > 0
                                          ? `; in shadow ${format.rate(now['shadow-denied'])}` : '')
                                   : 'nothing was asked');
    const [slowest] = this.latencies().filter(({p99}) => Number.isFinite(p99))
        .sort((a, b) => b.p99 - a.p99);
    const [figure, unit] = format.latency(slowest?.p99 ?? NaN);
    setText('latency', figure);
    setText('latency-unit', unit);
    setText('latency-note', slowest ? `${slowest.door}, the last minute` : 'nothing was asked');
    const use = single(this.metrics, 'headgate_table_live_cells') /
                single(this.metrics, 'headgate_table_cells');
    setText('use', format.percent(use));
    setText('use-note', `${format.count(single(this.metrics, 'headgate_table_live_cells'))} keys`);
  }

  showFlow() {
    this.flow.show(this.points(byId('flow-policy').value), seconds(), this.began);
  }

  describe(point, age) {
    const live = age === 0;
    const values = live ? this.ratesNow(byId('flow-policy').value)
                        : Object.fromEntries(OUTCOMES.map((outcome, i) => [outcome, point?.values[i] ?? NaN]));
    const stale = live && document.body.dataset.state === 'away';
    for (const output of byId('flow-legend').querySelectorAll('output')) {
      output.textContent = stale ? '–' : format.rate(values[output.dataset.outcome]);
    }
    const when = live ? 'now' : format.ago(age);
    setText('flow-when', live || point ? when : `${when}: not seen`);
    if (stale || (!live && !point)) return `${when}: not seen`;
    return `${when}: ` + OUTCOMES.map(outcome => `${outcome} ${format.rate(values[outcome])}`).join(', ');
  }

  layOutPolicies() {
    const choice = byId('flow-policy');
    const chosen = choice.value;
    choice.replaceChildren(element('option', {value: ''}, 'all'),
                           ...this.policies.map(({name}) => element('option', {value: name}, name)));
    choice.value = this.policies.some(({name}) => name === chosen) ? chosen : '';

    this.rows.clear();
    const rows = this.policies.map(policy => {
      const shown = {
        admitted: element('td', {class: 'number', 'data-label': 'Admitted'}),
        denied: element('td', {class: 'number', 'data-label': 'Denied'}),
        spark: svg('svg', {class: 'spark', viewBox: '0 0 160 28', preserveAspectRatio: 'none',
                           'aria-hidden': 'true'}),
        shadow: policy.mode === 'shadow' || policy.share === 0,
      };
      this.rows.set(policy.name, shown);
      const name = element('th', {scope: 'row'}, element('span', {class: 'name'}, policy.name));
      if (policy.mode !== 'enforce') {
        name.append(' ', element('span', {class: `badge ${policy.mode}`}, policy.mode));
      }
      if (typeof policy.share === 'number' && policy.mode === 'enforce') {
        name.append(' ', element('span', {class: 'badge shadow'}, `in force for ${policy.share} %`));
      }
      const quota = element('td', {'data-label': 'Quota'}, format.quota(policy),
                            element('span', {class: 'aside'}, policy.algorithm +
                                (policy.overrides > 0 ? `, ${format.counted(policy.overrides, 'override')}` : '')));
      return element('tr', {}, name, quota,
                     element('td', {class: 'key', 'data-label': 'Key'}, policy.key),
                     element('td', {class: 'key', 'data-label': 'Applies to'},
                             policy.match === '' ? 'every request' : policy.match),
                     shown.admitted, shown.denied, element('td', {class: 'trend'}, shown.spark));
    });
    byId('policies').tBodies[0].replaceChildren(...rows);
    setText('policies-note', format.counted(this.policies.length, 'policy', 'policies'));
  }

  layOutOverrides(overrides) {
    byId('overrides').hidden = overrides.length === 0;
    const shown = overrides.slice(0, OVERRIDES_SHOWN).map(({policy, key, quota, window, until, reason, fault}) => {
      const limit = element('td', {'data-label': 'Quota'},
                            window ? `${quota} per ${window}` : `${quota}`);
      if (fault) limit.append(' ', element('span', {class: 'badge off', title: fault}, 'without effect'));
      return element('tr', {}, element('th', {scope: 'row'}, element('span', {class: 'name'}, policy)), limit,
                     element('td', {class: 'key', 'data-label': 'Key'}, key === '' ? 'everyone' : key),
                     element('td', {'data-label': 'Until'}, until === null ? 'removed' : format.time(until)),
                     element('td', {'data-label': 'Reason'}, reason));
    });
    byId('overrides-list').tBodies[0].replaceChildren(...shown);
    const more = overrides.length - shown.length;
    setText('overrides-note', 'made while the server runs' + (more > 0 ? `, and ${format.count(more)} more` : ''));
  }

  showPolicies() {
    const now = seconds();
    for (const [name, row] of this.rows) {
      const rates = this.ratesNow(name);
      row.admitted.textContent = format.rate(rates.admitted);
      const shadow = `${format.rate(rates['shadow-denied'])} in shadow`;
      row.denied.textContent = row.shadow ? shadow
          : format.rate(rates.denied) + (rates['shadow-denied'] > 0 ? `, ${shadow}` : '');
      row.spark.replaceChildren(...spark(this.points(name), OUTCOMES, now, SPAN, 160, 28));
    }
  }

  /** Returns for each door, over the last minute: {door, buckets: [[bound, count]], count, p50, p90, p99}. */
  latencies() {
    const grown = this.history.growth(seconds(), LATENCY_SPAN);
    return [...this.doors].map(([door, bounds]) => {
      const buckets = bounds.map(bound => [bound, grown.get(bucketName(door, bound)) ?? 0]);
      const count = buckets.reduce((sum, [, n]) => sum + n, 0);
      return {door, buckets, count, p50: quantile(buckets, 0.5), p90: quantile(buckets, 0.9),
              p99: quantile(buckets, 0.99)};
    });
  }

  showDoors() {
    const open = new Map((this.metrics.get('headgate_open_connections') ?? [])
                             .map(({labels, value}) => [labels.door, value]));
    const rows = this.latencies().map(({door, buckets, count, p50, p90, p99}) => {
      const head = element('p', {class: 'door-head'}, element('span', {class: 'name'}, door),
                           element('span', {class: 'small'},
                                   `${format.count(open.get(door))} connections open`));
      if (!(count >= 1)) {
        return element('div', {class: 'door'}, head, element('p', {class: 'small'}, 'Nothing was asked.'));
      }
      const facts = element('dl', {class: 'facts'});
      for (const [name, value] of [['p50', p50], ['p90', p90], ['p99', p99]]) {
        facts.append(element('div', {}, element('dt', {}, name),
                             element('dd', {}, format.latency(value).join(' '))));
      }
      return element('div', {class: 'door'}, head, facts, this.histogram(buckets));
    });
    byId('doors').replaceChildren(...rows);
  }

  /** Returns bars for the histogram's buckets that are not empty, and one more on each side. */
  histogram(buckets) {
    const used = buckets.map(([, n], i) => n >= 0.5 ? i : -1).filter(i => i >= 0);
    const first = Math.max(0, used[0] - 1);
    const shown = buckets.slice(first, used.at(-1) + 2);
    const highest = Math.max(...shown.map(([, n]) => n));
    const all = buckets.reduce((sum, [, n]) => sum + n, 0);
    return element('ul', {class: 'bars', 'aria-label': 'Share of decisions by latency'},
                   ...shown.map(([bound, n]) => {
      const label = bound === Infinity ? 'more' : format.latency(bound).join(' ');
      const bar = element('span', {class: 'bar', 'aria-hidden': 'true'});
      bar.style.height = `${Math.round(40 * n / highest)}px`;
      const range = bound === Infinity ? 'more' : `up to ${label}`;
      return element('li', {title: `${range}: ${format.percent(n / all)} %`}, bar,
                     element('span', {class: 'bound', 'aria-hidden': 'true'}, label),
                     element('span', {class: 'hidden'}, `${range}: ${format.percent(n / all)} %`));
    }));
  }

  showTable() {
    const of = name => single(this.metrics, `headgate_table_${name}`);
    const part = of('live_cells') / of('cells');
    const meter = byId('table-meter');
    meter.setAttribute('aria-valuenow', (part * 100).toFixed(2));
    meter.setAttribute('aria-valuetext', `${format.percent(part)} %`);
    meter.firstElementChild.style.width = `${(part * 100).toFixed(2)}%`;
    setText('table-memory', `${format.bytes(of('memory_bytes'))}, everything included`);
    const full = of('unkept_total') > 0;
    showFacts('table-facts', [
      ['Keys with a place', format.count(of('live_cells'))],
      ['Room for', `${format.number(of('cells'))} keys`],
      ['Decisions without a place',
       format.count(of('unkept_total')) + (full ? ' – give it more memory' : ''), full],
    ]);
  }

  showRedis() {
    const metrics = this.metrics;
    byId('redis').hidden = !metrics.has('headgate_redis_up');
    if (byId('redis').hidden) return;
    const up = single(metrics, 'headgate_redis_up') === 1;
    const rates = this.history.now(seconds());
    const without = this.policies.map(({name}) => [name, rates.get(withoutRedisName(name)) ?? NaN]);
    const all = without.reduce((sum, [, rate]) => sum + rate, 0);
    const some = without.filter(([, rate]) => rate > 0);
    showFacts('redis-facts', [
      ['Link', up ? 'answers' : 'away – policies are decided as their on-outage says', !up],
      ['Decided without it', format.rate(all), all > 0],
      ...some.map(([name, rate]) => [`of ${name}`, format.rate(rate), true]),
      ['Round trips', format.rate(rates.get(ROUND_TRIPS) ?? NaN)],
      ['Not answered in time', format.count(single(metrics, 'headgate_redis_timeouts_total'))],
    ]);
  }

  showRanks(id, partitions, ifEmpty) {
    const highest = Math.max(...partitions.map(({per_second}) => per_second));
    const rows = partitions.map(partition => {
      const {policy, key, per_second, at_most_per_second} = partition;
      const shadow = partition.shadow_per_second > per_second / 2;
      const bar = element('span', {class: 'rank-bar', 'aria-hidden': 'true'});
      bar.style.width = `${(100 * per_second / highest).toFixed(1)}%`;
      // The server only has bounds: mark a lower one.
      const least = at_most_per_second > per_second * 1.05 ? '≥ ' : '';
      return element('li', {}, bar,
                     element('span', {class: 'key'}, key === '' ? 'everyone' : key),
                     element('span', {class: 'aside'}, policy + (shadow ? ', shadow' : '')),
                     element('span', {class: 'amount'}, least + format.rate(per_second)));
    });
    if (rows.length === 0) rows.push(element('li', {class: 'empty'}, ifEmpty));
    byId(id).replaceChildren(...rows);
  }
}

async function main() {
  const dashboard = new Dashboard();
  for (;;) {
    const begun = performance.now();
    await dashboard.read();
    await new Promise(resolve => setTimeout(resolve, Math.max(200, 1000 - (performance.now() - begun))));
  }
}

main();
