// The table of policies: found by words, in pages, sorted by a column.

import {spark, svg} from './chart.js';
import {OUTCOMES, decisionName} from './counters.js';
import {byId, element, setChildren, setText} from './dom.js';
import * as format from './format.js';
import {SPAN} from './history.js';

/** The rows of a page: more than a screen, and few enough to draw once per second. */
export const PAGE = 25;
const SPARK = {width: 160, height: 28};

const text = policy => [policy.name, policy.key, policy.match, policy.mode, policy.algorithm, policy.unit]
    .join(' ').toLowerCase();

/** Returns the policies in which each of the words occurs. */
export function search(policies, words) {
  const all = words.toLowerCase().split(/\s+/).filter(word => word !== '');
  return policies.filter(policy => all.every(word => text(policy).includes(word)));
}

const perSecond = ({quota, window_ns}) =>
    quota === null ? Infinity : window_ns === null ? quota : quota * 1e9 / window_ns;

/** What the columns are sorted by: [function of policy and its rates, whether the largest comes first]. */
const COLUMNS = {
  name: [policy => policy.name.toLowerCase(), false],
  quota: [perSecond, true],
  admitted: [(_, rates) => rates.admitted, true],
  denied: [(_, rates) => rates.denied + rates['shadow-denied'], true],
};

/**
 * Returns the policies sorted by a column, those that are equal as they were. `column` undefined: as they
 * are. `reversed`: against the column's usual direction. `ratesOf` maps a policy to its rates by outcome.
 */
export function sort(policies, column, reversed, ratesOf) {
  if (!column) return policies;
  const [value, falling] = COLUMNS[column];
  const sign = falling === reversed ? 1 : -1;
  return policies.map(policy => [policy, value(policy, ratesOf(policy.name))])
      .sort(([, a], [, b]) => sign * (a < b ? -1 : a > b ? 1 : 0))
      .map(([policy]) => policy);
}

export class PolicyTable {
  /** Calls onSelect(name) when the user selects a policy, onSelect('') when all of them. */
  constructor(onSelect) {
    this.onSelect = onSelect;
    this.table = byId('policies');
    this.body = this.table.tBodies[0];
    this.search = byId('policy-search');
    this.policies = [];
    this.rows = new Map();  // name -> {row, ...} of those that were shown
    this.selected = '';
    this.page = 0;
    this.column = undefined;
    this.reversed = false;
    this.search.addEventListener('input', () => this.turnTo(0));
    byId('page-before').addEventListener('click', () => this.turnTo(this.page - 1));
    byId('page-after').addEventListener('click', () => this.turnTo(this.page + 1));
    for (const head of this.heads()) {
      head.querySelector('button').addEventListener('click', () => this.sortBy(head.dataset.column));
    }
  }

  heads() {
    return this.table.querySelectorAll('th[data-column]');
  }

  layOut(policies) {
    this.policies = policies;
    this.rows.clear();
    if (!policies.some(({name}) => name === this.selected)) this.select('');
    this.turnTo(this.page);
  }

  select(name) {
    this.selected = name;
    for (const [of, {row, button}] of this.rows) {
      row.classList.toggle('selected', of === name);
      button.setAttribute('aria-pressed', of === name);
    }
    this.onSelect(name);
  }

  turnTo(page) {
    this.page = page;
    this.arrange();
    this.draw();
  }

  /** The usual direction first, then the other one, then the order of the file. */
  sortBy(column) {
    if (this.column !== column) {
      [this.column, this.reversed] = [column, false];
    } else if (!this.reversed) {
      this.reversed = true;
    } else {
      [this.column, this.reversed] = [undefined, false];
    }
    for (const head of this.heads()) {
      const of = head.dataset.column;
      const rising = COLUMNS[of][1] === this.reversed;
      head.setAttribute('aria-sort', of !== this.column ? 'none' : rising ? 'ascending' : 'descending');
    }
    this.turnTo(0);
  }

  /** Shows the rates of a history, as of the time `now` [s]. */
  show(history, now) {
    this.history = history;
    this.now = now;
    this.rates = history.now(now);
    // Rows do not move away from the pointer or the focus.
    const moves = ['admitted', 'denied'].includes(this.column);
    if (moves && !this.body.matches(':hover, :focus-within')) this.arrange();
    this.draw();
  }

  ratesOf(name) {
    return Object.fromEntries(OUTCOMES.map(outcome => [
      outcome, this.rates ? this.rates.get(decisionName(name, outcome)) ?? 0 : NaN]));
  }

  /** Selects the rows of the page. */
  arrange() {
    const found = sort(search(this.policies, this.search.value), this.column, this.reversed,
                       name => this.ratesOf(name));
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    this.page = Math.min(Math.max(0, this.page), pages - 1);
    const first = this.page * PAGE;
    this.shown = found.slice(first, first + PAGE);
    setChildren(this.body, this.shown.map(policy => this.rowOf(policy).row));

    byId('policy-tools').hidden = this.policies.length <= PAGE && this.search.value === '';
    byId('pages').hidden = pages === 1;
    byId('page-text').hidden = pages === 1 && found.length > 0 && this.search.value === '';
    // A button that has the focus keeps it at the end, so it is not disabled.
    byId('page-before').setAttribute('aria-disabled', this.page === 0);
    byId('page-after').setAttribute('aria-disabled', this.page === pages - 1);
    setText(byId('page-text'), found.length === 0 ? 'No policy has these words.'
        : `${format.count(first + 1)}–${format.count(first + this.shown.length)} of ${format.count(found.length)}`);
    setText(byId('policies-note'), format.counted(this.policies.length, 'policy', 'policies'));
  }

  rowOf(policy) {
    const known = this.rows.get(policy.name);
    if (known) return known;
    const button = element('button', {type: 'button', class: 'name', 'aria-pressed': policy.name === this.selected,
                                      title: 'Show its decisions in the chart'}, policy.name);
    const name = element('th', {scope: 'row'}, button);
    if (policy.mode !== 'enforce') name.append(' ', element('span', {class: `badge ${policy.mode}`}, policy.mode));
    if (typeof policy.share === 'number' && policy.mode === 'enforce') {
      name.append(' ', element('span', {class: 'badge shadow'}, `in force for ${policy.share} %`));
    }
    const asides = [policy.algorithm];
    if (policy.penalty_ns) asides.push(`penalty of ${format.duration(policy.penalty_ns / 1e9)} after a denial`);
    if (policy.overrides > 0) asides.push(format.counted(policy.overrides, 'override'));
    const made = {
      button,
      admitted: element('td', {class: 'number', 'data-label': 'Admitted'}),
      denied: element('td', {class: policy.mode === 'shadow' ? 'number shadow' : 'number', 'data-label': 'Denied'}),
      spark: svg('svg', {class: 'spark', viewBox: `0 0 ${SPARK.width} ${SPARK.height}`,
                         preserveAspectRatio: 'none', 'aria-hidden': 'true'}),
    };
    made.row = element('tr', {class: policy.name === this.selected ? 'selected' : ''}, name,
        element('td', {'data-label': 'Quota'}, format.quota(policy),
                element('span', {class: 'aside'}, asides.join(', '))),
        element('td', {class: 'key', 'data-label': 'Key'}, policy.key === '[]' ? 'everyone together' : policy.key),
        element('td', {class: 'key', 'data-label': 'Applies to'},
                policy.match === '' ? 'every request' : policy.match),
        made.admitted, made.denied, element('td', {class: 'trend'}, made.spark));
    made.row.addEventListener('click', () => this.select(this.selected === policy.name ? '' : policy.name));
    this.rows.set(policy.name, made);
    return made;
  }

  /** Draws the figures of the page's rows. */
  draw() {
    if (!this.history) return;
    for (const {name, mode} of this.shown) {
      const row = this.rowOf({name});
      const rates = this.ratesOf(name);
      setText(row.admitted, format.rate(rates.admitted));
      const shadow = rates['shadow-denied'];
      setText(row.denied, mode === 'shadow' ? `${format.rate(shadow)} in shadow`
          : format.rate(rates.denied) + (shadow > 0 ? ` and ${format.rate(shadow)} in shadow` : ''));
      row.spark.replaceChildren(...spark(pointsOf(this.history, outcome => decisionName(name, outcome)),
                                         OUTCOMES, this.now, SPAN, SPARK.width, SPARK.height));
    }
  }
}

/** Returns a history as points of a chart: [{from, to, values: [of each outcome]}]. */
export function pointsOf(history, nameOf) {
  const names = OUTCOMES.map(nameOf);
  return history.intervals.map(({from, to, rates}) => ({from, to, values: names.map(name => rates.get(name) ?? 0)}));
}
