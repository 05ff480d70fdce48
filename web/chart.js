// Areas over time, as SVG.

const SVG = 'http://www.w3.org/2000/svg';

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Returns the smallest of 1, 2, 5, 10, 20, ... that is not less than `value`. */
export function niceCeiling(value) {
  if (!(value > 0)) return 1;
  const decade = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map(step => step * decade).find(step => step >= value * 0.999999);
}

/**
 * Returns the paths of stacked areas, one per layer, the first at the bottom.
 *
 * points   [{from, to, values: [of each layer]}], in order of time; the areas have a gap where a
 *          point does not begin at the end of the previous one
 * x, y     functions of time and of value
 */
export function areas(points, layers, x, y) {
  const paths = Array.from({length: layers}, () => '');
  const at = (time, value) => `${x(time).toFixed(1)} ${y(value).toFixed(1)}`;
  for (let first = 0; first < points.length;) {
    let end = first + 1;
    while (end < points.length && points[end].from <= points[end - 1].to + 0.001) ++end;
    const run = points.slice(first, end);
    const base = run.map(() => 0);
    for (let layer = 0; layer < layers; ++layer) {
      if (run.every(({values}) => values[layer] === 0)) continue;
      const lower = [];
      const upper = [];
      run.forEach((point, i) => {
        const top = base[i] + point.values[layer];
        const middle = (point.from + point.to) / 2;
        // A run keeps its full width: it begins and ends with a step.
        const times = [i === 0 ? point.from : null, middle, i === run.length - 1 ? point.to : null];
        for (const time of times.filter(time => time !== null)) {
          lower.push(at(time, base[i]));
          upper.push(at(time, top));
        }
        base[i] = top;
      });
      paths[layer] += `M${upper.join('L')}L${lower.reverse().join('L')}Z`;
    }
    first = end;
  }
  return paths;
}

/** Returns the parts of [from, to] that no point covers. */
export function gaps(points, from, to) {
  const found = [];
  let end = from;
  for (const point of points) {
    if (point.from > end + 0.001) found.push([end, point.from]);
    end = Math.max(end, point.to);
  }
  if (to > end) found.push([end, to]);
  return found;
}

const MARGIN = {top: 10, right: 12, bottom: 22, left: 52};

/**
 * A chart of stacked areas with axes. The user selects a moment with the pointer or the arrow keys.
 */
export class FlowChart {
  /**
   * classes   CSS classes of the layers, from the bottom
   * describe  called with the point of the selected moment (undefined if it has none) and its age
   *           [s], whenever the selection changes; returns a text
   */
  constructor(container, {classes, span, label, format, describe}) {
    Object.assign(this, {container, classes, span, format, describe});
    this.points = [];
    this.age = 0;  // of the selected moment [s]
    this.root = svg('svg', {role: 'slider', tabindex: 0, 'aria-label': label,
                            'aria-orientation': 'horizontal', 'aria-valuemin': -span,
                            'aria-valuemax': 0});
    container.replaceChildren(this.root);
    this.root.addEventListener('pointermove', event => this.select(this.ageAt(event)));
    this.root.addEventListener('pointerleave', () => this.select(0));
    this.root.addEventListener('keydown', event => this.onKey(event));
    new ResizeObserver(() => this.draw()).observe(container);
  }

  /** `since`: the time of the first reading; earlier points are not marked as missing. */
  show(points, now, since) {
    Object.assign(this, {points, now, since});
    this.draw();
  }

  select(age) {
    this.age = Math.min(this.span, Math.max(0, age));
    this.draw();
  }

  onKey(event) {
    const step = {ArrowLeft: 1, ArrowRight: -1, PageUp: 30, PageDown: -30}[event.key];
    if (step) this.select(Math.round(this.age) + step);
    else if (event.key === 'Home') this.select(this.span);
    else if (event.key === 'End' || event.key === 'Escape') this.select(0);
    else return;
    event.preventDefault();
  }

  ageAt(event) {
    const box = this.root.getBoundingClientRect();
    const width = box.width - MARGIN.left - MARGIN.right;
    return this.span * (1 - (event.clientX - box.left - MARGIN.left) / width);
  }

  draw() {
    const width = this.container.clientWidth;
    const height = this.container.clientHeight;
    if (this.now === undefined || width === 0) return;
    const {now, span} = this;
    const highest = Math.max(0, ...this.points.map(({values}) => values.reduce((a, b) => a + b, 0)));
    const ceiling = niceCeiling(highest);
    const x = time => MARGIN.left + (1 - (now - time) / span) * (width - MARGIN.left - MARGIN.right);
    const y = value => height - MARGIN.bottom -
                       value / ceiling * (height - MARGIN.top - MARGIN.bottom);

    const drawn = [];
    for (const part of [0, 0.5, 1]) {
      const at = y(part * ceiling);
      drawn.push(svg('line', {class: 'grid', x1: MARGIN.left, x2: width - MARGIN.right, y1: at, y2: at}),
                 svg('text', {class: 'tick', x: MARGIN.left - 8, y: at + 4, 'text-anchor': 'end'},
                     this.format(part * ceiling)));
    }
    const every = width < 480 ? 120 : 60;
    for (let age = 0; age <= span; age += every) {
      drawn.push(svg('text', {class: 'tick', x: x(now - age), y: height - 4,
                              'text-anchor': age === 0 ? 'end' : age === span ? 'start' : 'middle'},
                     age === 0 ? 'now' : `−${age / 60} min`));
    }
    for (const [from, to] of gaps(this.points, Math.max(now - span, this.since), now)) {
      if (to - from < 2.5) continue;  // the next reading is not due yet
      drawn.push(svg('rect', {class: 'gap', x: x(from), width: x(to) - x(from), y: y(ceiling),
                              height: y(0) - y(ceiling)}));
      if (x(to) - x(from) > 90) {
        drawn.push(svg('text', {class: 'gap-text', x: (x(from) + x(to)) / 2, y: y(ceiling / 2),
                                'text-anchor': 'middle'}, 'not seen'));
      }
    }
    const visible = this.points.filter(({from}) => from >= now - span);
    areas(visible, this.classes.length, x, y).forEach((path, layer) => {
      if (path) drawn.push(svg('path', {class: `area ${this.classes[layer]}`, d: path}));
    });

    const moment = now - this.age;
    const point = this.age === 0 ? undefined
                                 : this.points.find(({from, to}) => from <= moment && moment <= to);
    if (this.age > 0) {
      drawn.push(svg('line', {class: 'cursor', x1: x(moment), x2: x(moment), y1: y(ceiling), y2: y(0)}));
    }
    this.root.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.root.setAttribute('aria-valuenow', -Math.round(this.age));
    this.root.setAttribute('aria-valuetext', this.describe(point, this.age));
    this.root.replaceChildren(...drawn);
  }
}

/** A small chart without axes. */
export function spark(points, classes, now, span, width, height) {
  const highest = Math.max(0, ...points.map(({values}) => values.reduce((a, b) => a + b, 0)));
  const x = time => width * (1 - (now - time) / span);
  const y = value => height - 1 - (highest > 0 ? value / highest : 0) * (height - 2);
  return areas(points.filter(({from}) => from >= now - span), classes.length, x, y)
      .map((path, layer) => svg('path', {class: `area ${classes[layer]}`, d: path}));
}
