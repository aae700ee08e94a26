// A curve of figures over time: lines on one scale from zero, with a table of their values for readers
// that see no picture.

import { classes, html, useState } from './dom.js';
import { brief } from './time.js';

const [WIDE, HIGH] = [320, 84];

/**
 * `points` are `{at, values}`, the oldest first; `lines` are `{name, tone}`, one for each value. A value
 * that is undefined leaves a gap. `show` writes a value.
 */
export function Chart({ title, points, lines, show, since, until }) {
  const [marked, mark] = useState(null);
  const values = points.flatMap((point) => point.values).filter((value) => value !== undefined);
  const top = Math.max(...values, 0) || 1;
  const x = (at) => ((at - since) / Math.max(1, until - since)) * WIDE;
  const y = (value) => HIGH - 2 - (value / top) * (HIGH - 6);
  const track = (index) => {
    let path = '';
    let isOpen = false;
    for (const { at, values } of points) {
      if (values[index] === undefined) {
        isOpen = false;
        continue;
      }
      path += `${isOpen ? 'L' : 'M'}${x(at).toFixed(1)} ${y(values[index]).toFixed(1)}`;
      // A single point is seen as a short line.
      if (!isOpen) path += 'h0.1';
      isOpen = true;
    }
    return path;
  };
  const latest = marked ?? points.at(-1);
  const point = (event) => {
    const area = event.currentTarget.getBoundingClientRect();
    const at = since + ((event.clientX - area.left) / area.width) * (until - since);
    const near = points.reduce((best, each) => (!best || Math.abs(each.at - at) < Math.abs(best.at - at) ? each : best), null);
    mark(near);
  };
  return html`<figure class="chart">
    <figcaption><span class="label">${title}</span>
      <span class="chart-now">${lines.map(({ name, tone }, index) => html`<span class=${classes('chart-value', tone)}><i aria-hidden="true"></i>${name} <strong>${latest?.values[index] === undefined ? '–' : show(latest.values[index])}</strong></span>`)}</span></figcaption>
    <svg viewBox=${`0 0 ${WIDE} ${HIGH}`} preserveAspectRatio="none" role="img" aria-label=${`${title}, up to ${show(top)}`} onPointerMove=${point} onPointerLeave=${() => mark(null)}>
      <path class="chart-grid" d=${`M0 ${y(top)}H${WIDE}M0 ${y(top / 2)}H${WIDE}M0 ${y(0)}H${WIDE}`} />
      ${lines.map(({ name, tone }, index) => html`<path key=${name} class=${classes('chart-line', tone)} d=${track(index)} />`)}
      ${marked && html`<path class="chart-mark" d=${`M${x(marked.at).toFixed(1)} 0V${HIGH}`} />`}
    </svg>
    <div class="chart-scale soft" aria-hidden="true"><span>${brief(since)}</span><span>${marked ? brief(marked.at) : `top ${values.length ? show(top) : '–'}`}</span><span>${brief(until)}</span></div>
  </figure>`;
}
