// Reads the server's state once per second and shows it.

import {FlowChart} from './chart.js';
import {OUTCOMES, ROUND_TRIPS, THROTTLE, decisionName, readCounters, requestName, withoutRedisName} from './counters.js';
import {byId, element, setText, showFacts} from './dom.js';
import {latencies, showDoors} from './doors.js';
import * as format from './format.js';
import {History, SPAN} from './history.js';
import {PolicyTable, pointsOf} from './policies.js';
import {parse, single} from './prometheus.js';
import {clients, showRanks} from './ranks.js';
import {Forbidden, NotFound, Unauthorised, getJson, getText, hasToken, keepToken} from './server.js';

const OVERRIDES_SHOWN = 100;
const RANKS_SHOWN = 10;
// The longest list that the server gives: a client is in it once per policy.
const TOP = 'v1/top?n=100';
// In the session storage, for each prefix that has a dashboard.
const HISTORY_KEY = `headgate-history ${location.pathname}`;

/** A Unix time [s] that does not jump while the page is open. */
const seconds = () => (performance.timeOrigin + performance.now()) / 1000;

const write = (id, text) => setText(byId(id), text);

/** The share of the places in the table that are taken, of the kind that is fullest; not finite if it is not known. */
function tableUse(metrics) {
  const of = name => metrics.get(`headgate_table_kind_${name}`) ?? [];
  const all = new Map(of('cells').map(({labels, value}) => [labels.kind, value]));
  return Math.max(...of('live_cells').map(({labels, value}) => value / all.get(labels.kind)));
}

class Dashboard {
  constructor() {
    this.history = new History();
    this.policies = [];         // of v1/policies
    this.keys = new Map();      // policy -> its key, as in the policy file
    this.wasNew = false;        // whether the last read() has found other policies or overrides
    this.reading = undefined;   // which reloads and overrides `policies` were read with
    this.server = undefined;    // which run of the server the history is of
    this.seen = undefined;      // time of the last response [s]
    this.began = seconds();
    this.policy = '';           // whose decisions the chart shows; '': the requests
    this.flow = new FlowChart(byId('flow'), {
      classes: OUTCOMES, span: SPAN, format: format.number,
      label: 'Rates over the last five minutes',
      describe: (point, age) => this.describe(point, age),
    });
    this.table = new PolicyTable(name => {
      this.policy = name;
      this.showFlow();
    });
    byId('flow-all').addEventListener('click', () => {
      this.table.select('');
      byId('policies-title').focus();
    });
    byId('token-form').addEventListener('submit', event => {
      event.preventDefault();
      keepToken(byId('token').value.trim());
      this.read();
    });
    addEventListener('pagehide', () => this.save());
  }

  async read() {
    try {
      const [metrics, top] = await Promise.all([getText('metrics'), getJson(TOP)]);
      this.take(parse(metrics));
      const isNew = this.reading !== this.readingNow;
      if (isNew) {
        this.inForce = await getJson('v1/policies');
        this.policies = this.inForce.policies;
        this.keys = new Map(this.policies.map(({name, key}) => [name, key]));
        this.table.layOut(this.policies);
        this.reading = this.readingNow;
      }
      // Twice: the worker of nginx that has listed them may have been a moment behind the one that has counted them.
      if (isNew || this.wasNew) this.layOutOverrides(await this.overrides());
      this.wasNew = isNew;
      this.seen = seconds();
      byId('token-form').hidden = true;
      this.show(top);
      this.showStatus('live');
    } catch (error) {
      if (error instanceof Unauthorised) {
        write('token-fault', hasToken() ? 'It does not take this one.' : '');
        byId('token-form').hidden = false;
        this.showStatus('locked');
      } else {
        // A restarted server may have other policies.
        this.reading = undefined;
        this.showStatus('away');
      }
      this.showFlow();
    }
  }

  // ---- figures from the counters

  take(metrics) {
    const {counters, doors, ofRequests, throttles} = readCounters(metrics);
    const started = single(metrics, 'headgate_start_time_seconds');
    const server = Number.isNaN(started) ? 'unknown' : String(started);
    if (this.history.last === undefined) this.restore(server);
    this.history.add(seconds(), counters);
    Object.assign(this, {metrics, doors, ofRequests, throttles, server});
    this.began = Math.min(this.began, this.history.began);
    this.readingNow = ['headgate_reloads_total', 'headgate_override_changes_total', 'headgate_start_time_seconds']
        .map(name => single(metrics, name)).join(' ');
  }

  /** Keeps the history for the next page of this tab. */
  save() {
    const text = this.history.save(this.server);
    try {
      if (text === undefined) sessionStorage.removeItem(HISTORY_KEY);
      else sessionStorage.setItem(HISTORY_KEY, text);
    } catch {
      // The storage is full, or forbidden: the next page begins anew.
    }
  }

  restore(server) {
    const text = sessionStorage.getItem(HISTORY_KEY);
    if (text !== null) this.history.restore(text, server);
  }

  /** Returns the overrides; none if there are none, or if they cannot be seen here. */
  async overrides() {
    const counts = ['headgate_overrides', 'headgate_overrides_left_out']
        .flatMap(name => this.metrics.get(name) ?? []);
    if (counts.every(({value}) => value === 0)) return [];
    try {
      return (await getJson('v1/overrides')).overrides;
    } catch (error) {
      if (error instanceof Forbidden || error instanceof NotFound) return [];
      throw error;
    }
  }

  /** The counter's name for an outcome of what the chart shows. */
  nameInChart() {
    return outcome => this.policy === '' ? requestName(outcome) : decisionName(this.policy, outcome);
  }

  /** Returns the rates of the last seconds, {admitted, denied, shadow-denied}, of these counters. */
  ratesNow(nameOf) {
    const rates = this.history.now(seconds());
    return Object.fromEntries(OUTCOMES.map(outcome => [outcome, rates ? rates.get(nameOf(outcome)) ?? 0 : NaN]));
  }

  // ---- showing them

  show(top) {
    this.showTiles();
    this.showFlow();
    this.showRedis();
    this.table.show(this.history, seconds());
    this.showDoors();
    this.showTable();
    const keyOf = policy => this.keys.get(policy);
    showRanks(byId('most-denied'), 'denied', clients(top.most_denied, keyOf), RANKS_SHOWN,
              'No client was denied lately.');
    showRanks(byId('busiest'), 'busiest', clients(top.busiest, keyOf), RANKS_SHOWN, 'No requests lately.');
    byId('keys-note').hidden =
        top.keys !== 'opaque' || top.busiest.length + top.most_denied.length === 0;
    this.showRun();
  }

  showStatus(state) {
    const status = byId('status');
    status.dataset.state = state;
    document.body.dataset.state = state;
    const since = this.seen === undefined ? 'so far' : `last seen ${format.ago(seconds() - this.seen)}`;
    write('status-text', {live: 'Live', locked: 'Token wanted',
                          away: `The server does not answer, ${since}`}[state]);
    byId('main').inert = state === 'locked';
  }

  showTiles() {
    const now = this.ratesNow(requestName);
    const all = now.admitted + now.denied + now['shadow-denied'];
    const policies = this.policies.length + (this.throttles ? 1 : 0);
    write('requests-title', this.ofRequests ? 'Requests' : 'Decisions');
    write('requests', format.number(all));
    write('requests-note', this.ofRequests ? this.decisionsNote()
                                           : `of ${format.counted(policies, 'policy', 'policies')}`);
    write('denied', format.number(now.denied));
    const shadow = now['shadow-denied'] > 0 ? `; in shadow ${format.rate(now['shadow-denied'])}` : '';
    write('denied-note', all > 0 ? `${format.percent(now.denied / all)} % of all${shadow}` : 'nothing was asked');

    byId('latency-tile').hidden = this.doors.size === 0;
    const [slowest] = latencies(this.doors, this.history, seconds()).filter(({p99}) => Number.isFinite(p99))
        .sort((a, b) => b.p99 - a.p99);
    const [figure, unit] = format.latency(slowest?.p99 ?? NaN);
    write('latency', figure);
    write('latency-unit', unit);
    write('latency-note', slowest ? `${slowest.door}, the last minute` : 'nothing was asked');

    const cells = single(this.metrics, 'headgate_table_live_cells');
    write('use', format.percent(tableUse(this.metrics)));
    write('use-note', format.counted(cells, 'key'));
  }

  decisionsNote() {
    const rates = this.history.now(seconds());
    const decisions = rates && [...this.policies.map(({name}) => name), THROTTLE].reduce((sum, name) =>
        sum + OUTCOMES.reduce((of, outcome) => of + (rates.get(decisionName(name, outcome)) ?? 0), 0), 0);
    return `${format.rate(decisions ?? NaN)} decisions of ${format.counted(this.policies.length, 'policy', 'policies')}`;
  }

  showFlow() {
    const what = this.policy !== '' ? 'Decisions' : this.ofRequests === false ? 'Decisions' : 'Requests';
    write('flow-what', `${what} per second`);
    write('flow-policy', this.policy === '' ? '' : this.policy);
    byId('flow-of').hidden = this.policy === '';
    this.flow.show(pointsOf(this.history, this.nameInChart()), seconds(), this.began);
  }

  describe(point, age) {
    const live = age === 0;
    const values = live ? this.ratesNow(this.nameInChart())
                        : Object.fromEntries(OUTCOMES.map((outcome, i) => [outcome, point?.values[i] ?? NaN]));
    const stale = live && document.body.dataset.state === 'away';
    for (const output of byId('flow-legend').querySelectorAll('output')) {
      setText(output, stale ? '–' : format.rate(values[output.dataset.outcome]));
    }
    const when = live ? 'now' : format.ago(age);
    write('flow-when', live || point ? when : `${when}: not seen`);
    if (stale || (!live && !point)) return `${when}: not seen`;
    return `${when}: ` + OUTCOMES.map(outcome => `${outcome} ${format.rate(values[outcome])}`).join(', ');
  }

  layOutOverrides(overrides) {
    byId('overrides').hidden = overrides.length === 0;
    const shown = overrides.slice(0, OVERRIDES_SHOWN).map(({policy, key, quota, window, until, reason, fault}) => {
      const limit = element('td', {'data-label': 'Quota'},
                            window ? `${quota} per ${window}` : `${quota}`);
      if (fault) limit.append(' ', element('span', {class: 'badge off', title: fault}, 'without effect'));
      const words = key !== '' ? key : this.keys.get(policy) === '[]' ? 'everyone' : '(no key)';
      return element('tr', {}, element('th', {scope: 'row'}, element('span', {class: 'name'}, policy)), limit,
                     element('td', {class: 'key', 'data-label': 'Key'}, words),
                     element('td', {'data-label': 'Until'}, until === null ? 'removed' : format.time(until)),
                     element('td', {'data-label': 'Reason'}, reason));
    });
    byId('overrides-list').tBodies[0].replaceChildren(...shown);
    const more = overrides.length - shown.length;
    write('overrides-note', 'made while the server runs' + (more > 0 ? `, and ${format.count(more)} more` : ''));
  }

  showDoors() {
    byId('doors-card').hidden = this.doors.size === 0;
    const open = new Map((this.metrics.get('headgate_open_connections') ?? [])
                             .map(({labels, value}) => [labels.door, value]));
    showDoors(byId('doors'), latencies(this.doors, this.history, seconds()), open);
  }

  showTable() {
    const of = name => single(this.metrics, `headgate_table_${name}`);
    const part = tableUse(this.metrics);
    if (Number.isFinite(part)) {
      const meter = byId('table-meter');
      meter.setAttribute('aria-valuenow', (part * 100).toFixed(2));
      meter.setAttribute('aria-valuetext', `${format.percent(part)} %`);
      meter.firstElementChild.style.width = `${(part * 100).toFixed(2)}%`;
    }
    write('table-memory', `${format.bytes(of('memory_bytes'))}, everything included`);
    const full = of('unkept_total') > 0;
    showFacts(byId('table-facts'), [
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
    const rate = name => rates ? rates.get(name) ?? 0 : NaN;
    const without = this.policies.map(({name}) => [name, rate(withoutRedisName(name))]);
    const all = without.reduce((sum, [, one]) => sum + one, 0);
    const some = without.filter(([, one]) => one > 0);
    showFacts(byId('redis-facts'), [
      ['Link', up ? 'answers' : 'away – policies are decided as their on-outage says', !up],
      ['Decided without it', format.rate(all), all > 0],
      ...some.map(([name, one]) => [`of ${name}`, format.rate(one), true]),
      ['Round trips', format.rate(rate(ROUND_TRIPS))],
      ['Not answered in time', format.count(single(metrics, 'headgate_redis_timeouts_total'))],
    ]);
  }

  /** Which program this is, since when it runs, and which file it has read. */
  showRun() {
    const of = name => single(this.metrics, `headgate_${name}`);
    const now = seconds();
    const version = this.metrics.get('headgate_build_info')?.[0]?.labels.version;
    const started = of('start_time_seconds');
    const reloaded = of('last_reload_timestamp_seconds');
    write('version', version ?? '');
    write('uptime', Number.isNaN(started) ? '' : `up ${format.duration(now - started)}`);
    byId('uptime').title = Number.isNaN(started) ? '' : `since ${format.time(started)}`;

    const facts = [];
    if (this.inForce.file) facts.push(this.inForce.file);
    const reloads = of('reloads_total');
    if (reloads >= 0) facts.push(`read ${format.counted(reloads + 1, 'time')}`);
    if (!Number.isNaN(reloaded)) facts.push(`last ${format.duration(now - reloaded)} ago, ${format.time(reloaded)}`);
    const refused = of('refused_reloads_total');
    if (refused > 0) facts.push(`${format.counted(refused, 'reload')} refused: see the server's log`);
    write('footer', facts.join('; '));
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
