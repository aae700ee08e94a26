// The host itself: whether it takes work, what it is about, and its figures at a glance.

import { html, useEffect, useRef, useState } from '../dom.js';
import { get, getList, metrics } from '../api.js';
import { Chart } from '../chart.js';
import { Command } from '../command.js';
import { useChanges } from '../live.js';
import { Facts, Failed, Heading, Reading, Table } from '../parts.js';
import { useRead } from '../read.js';
import { Link } from '../route.js';
import { length } from '../time.js';
import { Text } from '../text.js';
import { bytes } from './modules.js';

const EVERY_MS = 5000;
/** The time that the curves show. */
const SPAN_MS = 900_000;

/** The points of the curves, the oldest first. They stay while other pages are looked at. */
const points = [];

async function read(signal) {
  const [index, ready, figures, stuck] = await Promise.all([
    get('/', {}, signal),
    get('/ready', {}, signal).then(() => null, (error) => error),
    metrics(signal),
    getList('/v1/invocations', { stuck: true, limit: 20 }, signal),
  ]);
  return { index, ready, figures, stuck, at: performance.now() };
}

const sum = (samples, fits = () => true) => (samples || []).filter(({ labels }) => fits(labels)).reduce((total, { value }) => total + value, 0);

/** The value below which a part of a histogram's samples lie; from the differences of its buckets. */
function quantile(before, after, name, part) {
  const buckets = new Map();
  for (const [figures, sign] of [[after, 1], [before, -1]]) {
    for (const { labels, value } of figures?.get(`${name}_bucket`) || []) buckets.set(labels.le, (buckets.get(labels.le) || 0) + sign * value);
  }
  const sorted = [...buckets].map(([le, number]) => [le === '+Inf' ? Infinity : Number(le), number]).sort((a, b) => a[0] - b[0]);
  const total = sorted.at(-1)?.[1] || 0;
  if (!total) return undefined;
  return sorted.find(([, number]) => number >= total * part)?.[0];
}

export function Host() {
  const of = useRead(read, []);
  const before = useRef(null);
  const [rates, setRates] = useState(null);
  useChanges('', () => {});
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && of.again(), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    if (!of.data) return;
    const was = before.current;
    before.current = of.data;
    if (!was) return;
    const seconds = (of.data.at - was.at) / 1000;
    const rate = (name, fits) => Math.max(0, sum(of.data.figures.get(name), fits) - sum(was.figures.get(name), fits)) / seconds;
    const rates = { was: was.figures, rate };
    points.push({ at: Date.now(), values: CURVES.map((curve) => curve.lines.map((line) => line.of(of.data.figures, rates))) });
    while (points[0].at < Date.now() - SPAN_MS) points.shift();
    setRates(rates);
  }, [of.data]);
  return html`<${Heading} title="Host" />
    <${Reading} of=${of}>${({ index, ready, figures, stuck }) => html`
      <div class="tiles">
        <${Tile} name="State" tone=${ready ? 'bad' : 'good'} value=${ready ? 'not ready' : 'ready'} hint=${ready?.message || 'It takes work, and its store commits it.'} />
        <${Tile} name="Stuck" tone=${stuck.items.length || stuck.unreadable?.length ? 'warn' : ''} value=${`${stuck.items.length + (stuck.unreadable?.length || 0)}${stuck.next ? '+' : ''}`} hint=${html`<${Link} to=${[]} query=${{ stuck: 'true' }}>what waits for a person<//>`} />
        <${Tile} name="Version" value=${index.version} />
        ${rates && TILES.map(({ name, of, hint }) => html`<${Tile} key=${name} name=${name} value=${of(figures, rates)} hint=${hint} />`)}
      </div>
      ${ready && html`<${Failed} error=${ready} />`}
      <h2>The last 15 minutes</h2>
      <p class="soft">Read every 5 s while this page is seen.</p>
      <div class="charts">${CURVES.map((curve, at) => html`<${Chart} key=${curve.title} ...${curve} points=${points.map((point) => ({ at: point.at, values: point.values[at] }))} since=${Date.now() - SPAN_MS} until=${Date.now()} />`)}</div>
      <h2>Recovery</h2>
      <p class="soft">What the host does by itself about what went wrong, since it started; and what is left for a person.</p>
      <${Table} label="Recovery" columns=${['What', { name: 'Number', class: 'num' }, 'It means']}>
        ${recovered(figures).map(([name, value, means, tone]) => html`<tr><td>${name}</td><td class=${`num ${value && tone ? tone : ''}`}>${value.toLocaleString()}</td><td class="soft">${means}</td></tr>`)}<//>
      <h2>Figures</h2>
      <p class="soft">All that <a href="/metrics">/metrics</a> has and is not zero, for Prometheus; read every 5 s while this page is seen.</p>
      <${Table} label="Figures" columns=${['Name', 'Labels', { name: 'Value', class: 'num' }]}>
        ${[...figures].filter(([name]) => !name.endsWith('_bucket') && !name.startsWith('segno_http')).flatMap(([name, samples]) => samples.filter(({ value }) => value).slice(0, 12).map(({ labels, value }) => html`<tr><td><code>${name}</code></td><td class="soft"><${Text} text=${Object.entries(labels).map(([label, each]) => `${label}=${each}`).join(' ')} most=${80} /></td><td class="num">${Number.isInteger(value) ? value.toLocaleString() : value.toPrecision(4)}</td></tr>`))}
      <//>
      <h2>On the machine of the host</h2>
      <p class="soft">What reads the store past the host is there on the command line.</p>
      <${Command} line="segno doctor" /><${Command} line="segno recovery policy" /><${Command} line="segno size" />`}<//>`;
}

/** The labels under which a figure is kept, each with its value. */
const by = (figures, name, label) => (figures.get(name) || []).map(({ labels, value }) => [labels[label], value]);

const REQUEUES = { expiry: 'their holder died, or was not heard of', 'host-reset': 'their host started again', reconcile: 'rows were damaged from outside: run `segno doctor`' };
const REASONS = { diverged: 'its code asks for something else than its journal says', 'no-worker': 'nobody takes it', deadlocked: 'it waits for what waits for it', unsettled: 'a promise without owner or deadline, for a day' };

/** What recovery did and found: name, number, what it means, and how it looks if it is not zero. */
function recovered(figures) {
  const total = (name) => sum(figures.get(name));
  return [
    ['Leases that ran out', total('segno_lease_expirations_total'), 'each is gone on with elsewhere'],
    ...by(figures, 'segno_recovery_requeues_total', 'cause').map(([cause, value]) => [`Tasks taken back: ${cause}`, value, REQUEUES[cause] || '', cause === 'reconcile' ? 'bad' : '']),
    ['Messages owed', total('segno_outbox_messages'), 'they are sent until they arrive'],
    ['Executions halted', total('segno_quarantined_tasks'), 'they wait for a person', 'warn'],
    ['Rows left alone', total('segno_quarantined_rows'), 'they cannot be read: `segno doctor` says which', 'bad'],
    ...by(figures, 'segno_stuck_executions', 'reason').filter(([, value]) => value).map(([reason, value]) => [`Stuck: ${reason}`, value, REASONS[reason] || '', 'warn']),
  ];
}

const perSecond = (number) => `${number < 10 ? number.toFixed(1) : Math.round(number).toLocaleString()} /s`;
const latency = (figures, rates, name, part) => {
  const found = quantile(rates.was, figures, name, part);
  return found === undefined ? '–' : found === Infinity ? 'longer' : `≤ ${length(found * 1000)}`;
};
/** The same in milliseconds, for a curve; what lies beyond the last bucket has no place on one. */
const millis = (name, part) => (figures, rates) => {
  const found = quantile(rates.was, figures, name, part);
  return found === undefined || found === Infinity ? undefined : found * 1000;
};
const ofState = (...states) => (_, { rate }) => rate('segno_settlements_total', ({ state }) => states.includes(state));

/** The curves: each with its lines, and how a value of it is written. */
const CURVES = [
  { title: 'Outcomes', show: perSecond, lines: [
    { name: 'resolved', tone: 'good', of: ofState('resolved') },
    { name: 'rejected, timed out', tone: 'bad', of: ofState('rejected', 'timed-out') },
  ] },
  { title: 'Commits', show: perSecond, lines: [{ name: 'transactions', tone: 'run', of: (_, { rate }) => rate('segno_store_commits_total') }] },
  { title: 'Latency, 99 of 100 are below', show: length, lines: [
    { name: 'commit', tone: 'run', of: millis('segno_store_commit_duration_seconds', 0.99) },
    { name: 'wait for a worker', tone: 'warn', of: millis('segno_lease_acquisition_latency_seconds', 0.99) },
  ] },
  { title: 'Memory', show: bytes, lines: [{ name: 'of the process', tone: 'event', of: (figures) => sum(figures.get('segno_process_resident_memory_bytes')) }] },
];
const gauge = (figures, name) => sum(figures.get(name)).toLocaleString();

/** What is seen at a glance; rates are of the last 5 s. */
const TILES = [
  { name: 'Settled', of: (_, { rate }) => perSecond(rate('segno_settlements_total')), hint: 'promises and executions that got their outcome' },
  { name: 'Rejected', of: (_, { rate }) => perSecond(rate('segno_settlements_total', ({ state }) => state === 'rejected' || state === 'timed-out')), hint: 'among them, with timed out ones' },
  { name: 'Commits', of: (_, { rate }) => perSecond(rate('segno_store_commits_total')), hint: 'transactions' },
  { name: 'Commit takes', of: (figures, rates) => latency(figures, rates, 'segno_store_commit_duration_seconds', 0.99), hint: '99 of 100' },
  { name: 'Wait for a worker', of: (figures, rates) => latency(figures, rates, 'segno_lease_acquisition_latency_seconds', 0.99), hint: '99 of 100, from the offer on' },
  { name: 'Running', of: (figures) => gauge(figures, 'segno_executions_running'), hint: 'claims executed by this host now' },
  { name: 'Ready', of: (figures) => gauge(figures, 'segno_ready_tasks'), hint: 'tasks that wait for any host' },
  { name: 'Owed', of: (figures) => gauge(figures, 'segno_outbox_messages'), hint: 'messages that are not delivered yet' },
  { name: 'Memory', of: (figures) => bytes(sum(figures.get('segno_process_resident_memory_bytes'))), hint: 'of the process' },
];

const Tile = ({ name, value, hint, tone = '' }) => html`<div class=${`tile ${tone}`}><span class="label">${name}</span><strong>${value}</strong>${hint && html`<span class="hint">${hint}</span>`}</div>`;
