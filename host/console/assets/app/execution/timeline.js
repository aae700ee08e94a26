// The timeline: a bar for each step on its own row, so that what went on at once stands one below the
// other; above it all steps packed into lanes, on which a part of the time is chosen.

import { classes, html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../dom.js';
import { Rows } from '../list.js';
import { tone } from '../state.js';
import { absolute, length, relative } from '../time.js';
import { count, Id, Text } from '../text.js';
import { lanesOf, stepsOf } from './steps.js';
import { RecordDetail } from './record.js';

const ROW = 26;
const OVERVIEW = 64;
const TICKS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000, 3_600_000, 21_600_000, 43_200_000, 86_400_000, 604_800_000, 2_592_000_000];

/** The tone of a step. */
function toneOf(step, node) {
  if (step.failure) return 'bad';
  if (step.open) return node ? tone(node.state) : 'wait';
  return step.index === undefined ? 'event' : step.kind === 'sleep' || step.kind === 'promise' ? 'rest' : 'good';
}

/** How a step stands, in words. */
function standing(step, node) {
  const took = step.index === undefined ? '' : step.open ? `, open for ${length((step.until ?? Date.now()) - step.from)}` : `, ${length(step.until - step.from)}`;
  const state = step.failure ? `, failed with ${step.failure.code}` : '';
  const attempts = node?.attempt ? `, ${count(node.attempt, 'failed attempt')}` : '';
  return `${took}${state}${attempts}`;
}

export function Timeline({ invocation, records, nodes, complete, onMore }) {
  // A generation ends with its journal, the first one before its promise settles.
  const ended = invocation.settled_at_ms ?? (invocation.generation?.next && records.at(-1)?.at_ms);
  const { steps, from, until: last } = useMemo(() => stepsOf(invocation.id, records, ended), [records, ended]);
  // What is open grows to the right: once a second while it is shown, and not with each drawing.
  const [now, tick] = useState(Date.now());
  useEffect(() => {
    if (ended !== undefined) return undefined;
    const timer = setInterval(() => !document.hidden && tick(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [ended]);
  const until = ended === undefined ? Math.max(now, last) : last;
  const all = { from, until: Math.max(until, from + 1) };
  const [chosen, choose] = useState(null);
  const seen = chosen || all;
  const [selected, select] = useState(undefined);
  const packed = useMemo(() => lanesOf(steps, until), [steps, ended === undefined ? Math.floor(now / 5000) : 0]);

  const zoom = (factor, middle = 0.5) => {
    const width = (seen.until - seen.from) * factor;
    if (width >= all.until - all.from) return choose(null);
    const center = seen.from + (seen.until - seen.from) * middle;
    const start = Math.min(Math.max(all.from, center - width * middle), all.until - width);
    choose({ from: start, until: start + Math.max(width, 1) });
  };
  const pan = (part) => {
    const width = seen.until - seen.from;
    const start = Math.min(Math.max(all.from, seen.from + width * part), all.until - width);
    if (chosen) choose({ from: start, until: start + width });
  };
  const keys = (event) => {
    const act = { '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), 0: () => choose(null), ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25) }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select')) return;
    event.preventDefault();
    act();
  };
  const wheel = (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const area = event.currentTarget.getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.min(1, Math.max(0, (event.clientX - area.left) / area.width)));
  };
  const visible = useMemo(
    () => (chosen ? steps.filter((step) => step.from <= seen.until && (step.until ?? until) >= seen.from) : steps),
    [steps, chosen, chosen && until],
  );
  const shown = selected !== undefined && steps.find((step) => step.seq === selected);
  if (!records.length) return html`<p class="empty">Nothing is recorded yet.</p>`;
  return html`<div class="timeline" onKeyDown=${keys}>
    <div class="bar">
      <span class="soft">${count(steps.filter((step) => step.index !== undefined).length, 'step')} in ${length(until - from)}${packed.count > 1 && `, up to ${packed.count} at once`}</span>
      <span class="grow"></span>
      <button type="button" onClick=${() => zoom(0.5)} aria-label="Zoom in" title="Zoom in (+)">+</button>
      <button type="button" onClick=${() => zoom(2)} disabled=${!chosen} aria-label="Zoom out" title="Zoom out (−)">−</button>
      <button type="button" onClick=${() => choose(null)} disabled=${!chosen} title="The whole time (0)">fit</button>
    </div>
    <${Overview} steps=${steps} packed=${packed} nodes=${nodes} all=${all} seen=${seen} onChoose=${choose} />
    <${Axis} seen=${seen} from=${from} onWheel=${wheel} />
    <${Rows} count=${visible.length} row=${ROW} most=${Math.max(320, Math.round(innerHeight * 0.55))} label="Steps, each with its time" role="list" onWheel=${wheel} at=${undefined}
      draw=${(index) => html`<${Row} key=${visible[index].seq} step=${visible[index]} node=${nodes.get(visible[index].promise)} seen=${seen} now=${until} chosen=${selected === visible[index].seq} onSelect=${() => select(selected === visible[index].seq ? undefined : visible[index].seq)} />`} />
    ${!complete && html`<button type="button" onClick=${onMore}>Read further records</button>`}
    ${shown && html`<${StepDetail} owner=${invocation.id} step=${shown} node=${nodes.get(shown.promise)} onClose=${() => select(undefined)} />`}
  </div>`;
}

function Row({ step, node, seen, now, chosen, onSelect }) {
  const width = seen.until - seen.from;
  const at = (instant) => Math.min(100, Math.max(0, ((instant - seen.from) / width) * 100));
  const until = step.until ?? now;
  const left = at(step.from);
  const right = at(until);
  const waits = step.open && node?.retry_at_ms > Date.now();
  const rest = standing(step, node);
  const named = `${step.kind} ${step.title}${rest}`;
  return html`<div class=${classes('step', chosen && 'chosen')} role="listitem">
    <button type="button" class="step-name" onClick=${onSelect} aria-pressed=${String(chosen)} title=${named.slice(0, 500)}>
      <span class="step-index">${step.index ?? ''}</span><span class="step-kind">${step.kind}</span> <${Text} text=${step.title} most=${60} /><span class="unseen">${rest}</span>
    </button>
    <div class="step-time" onClick=${onSelect} aria-hidden="true">
      ${step.index === undefined
        ? html`<i class=${classes('point', toneOf(step))} style=${{ left: `${left}%` }}></i>`
        : html`<i class=${classes('bar-of', toneOf(step, node), step.open && 'open')} style=${{ left: `${left}%`, width: `${Math.max(0, right - left)}%` }}>
            ${node?.attempt > 0 && html`<b class="attempts">${'×'.repeat(Math.min(node.attempt, 5))}${node.attempt > 5 ? node.attempt : ''}</b>`}
          </i>
          ${waits && html`<i class="bar-of retry" style=${{ left: `${right}%`, width: `${Math.max(2, at(node.retry_at_ms) - right)}%` }} title=${`the next attempt ${relative(node.retry_at_ms)}`}></i>`}
          <span class="step-took" style=${right > 82 ? { right: `${Math.max(0, 100 - left)}%` } : { left: `${right}%` }}>${step.until === step.from && !step.open ? '' : length(until - step.from)}</span>`}
    </div>
  </div>`;
}

/** The narrowest room of a label of the axis, in pixels. */
const LABEL = 72;

function Axis({ seen, from, onWheel }) {
  const width = seen.until - seen.from;
  const element = useRef(null);
  const [room, measure] = useState(7 * LABEL);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(() => measure(element.current?.clientWidth || 7 * LABEL));
    watch.observe(element.current);
    return () => watch.disconnect();
  }, []);
  const most = Math.max(1, Math.min(7, Math.floor(room / LABEL)));
  const gap = TICKS.find((each) => width / each <= most) || width / most;
  const ticks = [];
  for (let at = Math.ceil((seen.from - from) / gap) * gap; at <= seen.until - from && ticks.length < 12; at += gap) ticks.push(at);
  return html`<div class="axis" ref=${element} onWheel=${onWheel} aria-hidden="true"><div class="axis-time">
    ${ticks.map((at) => html`<span style=${{ left: `${((at + from - seen.from) / width) * 100}%` }} title=${absolute(at + from)}>+${at === 0 ? '0' : length(at)}</span>`)}
  </div></div>`;
}

/** All steps at once on a canvas, and the part of the time that is shown below. */
function Overview({ steps, packed, nodes, all, seen, onChoose }) {
  const canvas = useRef(null);
  const drag = useRef(null);
  const [marked, mark] = useState(null);
  const [wide, resize] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(() => resize(canvas.current?.clientWidth || 0));
    watch.observe(canvas.current);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const repaint = () => resize((was) => was + 0.001);
    scheme.addEventListener('change', repaint);
    return () => {
      watch.disconnect();
      scheme.removeEventListener('change', repaint);
    };
  }, []);
  useLayoutEffect(() => {
    const element = canvas.current;
    const scale = devicePixelRatio || 1;
    const width = Math.round(element.clientWidth);
    element.width = width * scale;
    element.height = OVERVIEW * scale;
    const draw = element.getContext('2d');
    draw.scale(scale, scale);
    const style = getComputedStyle(element);
    const color = Object.fromEntries(['good', 'bad', 'run', 'wait', 'warn', 'rest', 'off', 'event'].map((name) => [name, style.getPropertyValue(`--bar-${name}`) || style.color]));
    const high = Math.min(10, (OVERVIEW - 6) / Math.max(1, packed.count));
    const x = (at) => ((at - all.from) / (all.until - all.from)) * width;
    steps.forEach((step, index) => {
      const left = x(step.from);
      draw.fillStyle = color[toneOf(step, nodes.get(step.promise))];
      if (step.index === undefined) {
        draw.globalAlpha = 0.5;
        draw.fillRect(left, 0, 1, OVERVIEW);
        draw.globalAlpha = 1;
        return;
      }
      draw.fillRect(left, 3 + packed.lanes[index] * high, Math.max(1, x(step.until ?? all.until) - left), Math.max(1, high - 1));
    });
  }, [steps, packed, wide, Math.round(all.until / 1000), nodes]);
  const part = (event) => {
    const area = canvas.current.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - area.left) / area.width));
  };
  const down = (event) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    drag.current = part(event);
  };
  const move = (event) => {
    if (drag.current !== null) mark([Math.min(drag.current, part(event)), Math.max(drag.current, part(event))]);
  };
  const up = (event) => {
    const [first, last] = [Math.min(drag.current ?? 0, part(event)), Math.max(drag.current ?? 0, part(event))];
    drag.current = null;
    mark(null);
    const width = all.until - all.from;
    if (last - first > 0.005) onChoose({ from: all.from + first * width, until: all.from + last * width });
  };
  const percent = (at) => `${((at - all.from) / (all.until - all.from)) * 100}%`;
  const window_ = marked ? { left: `${marked[0] * 100}%`, right: `${100 - marked[1] * 100}%` } : { left: percent(seen.from), right: `calc(100% - ${percent(seen.until)})` };
  return html`<div class="overview" onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerCancel=${() => {
    drag.current = null;
    mark(null);
  }} title="Drag over a part of the time to zoom into it">
    <canvas ref=${canvas} role="img" aria-label=${`All steps, packed into ${count(packed.count, 'lane')}; the journal has them as a table`} style=${{ height: `${OVERVIEW}px` }}></canvas>
    <div class=${classes('window', !marked && seen === all && 'whole')} style=${window_}></div>
  </div>`;
}

function StepDetail({ owner, step, node, onClose }) {
  return html`<section class="detail" aria-label="The step">
    <header><h2>${step.index !== undefined && `#${step.index} `}${step.kind} <${Text} text=${step.title} most=${120} /></h2><button type="button" class="close" aria-label="Close" onClick=${onClose}>×</button></header>
    ${step.promise && html`<p><${Id} id=${step.promise} />${node && html` is ${node.state}${node.attempt > 0 ? `, after ${count(node.attempt, 'failed attempt')}` : ''}${node.retry_at_ms > Date.now() ? `; the next comes ${relative(node.retry_at_ms)}` : ''}.`}</p>`}
    ${node?.attempt_error && html`<p class="warn">The last failed attempt: <${Text} text=${node.attempt_error} most=${600} more /></p>`}
    ${node?.error && html`<p class="warn"><${Text} text=${node.error} most=${600} more /></p>`}
    <${RecordDetail} record=${step.record} owner=${owner} />
    ${step.outcome && html`<${RecordDetail} record=${step.outcome} />`}
  </section>`;
}
