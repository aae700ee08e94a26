// Something of everything on a host: executions in each state, and what the other pages show.

import { api, until } from './browser.mjs';

const start = (id, target, input, more = {}) => api('POST', '/v1/invocations', { id, target, input, ...more });
const state = async (id) => (await api('GET', `/v1/invocations/${encodeURIComponent(id)}`)).state;

export const is = (id, wanted) => until(`${id} is ${wanted}`, async () => (await state(id)) === wanted);

/** The id of an execution in each state. */
export const IN_STATE = { pending: 'later', acquired: 'pack-8', suspended: 'doc-1', halted: 'broken-1', resolved: 'hello-1', rejected: 'declined-1', cancelled: 'killed-1', 'timed-out': 'late-1' };

export async function populate() {
  await start('hello-1', 'hello/hello', 'Ada', { labels: { team: 'docs' } });
  await start('doc-1', 'approval/approval', { title: 'Budget', approver: 'ada' }, { labels: { team: 'finance', customer: '7' } });
  await start('doc-2', 'approval/approval', { title: 'Plan', approver: 'bob' });
  await start('later', 'hostile/behave', { name: 'Ada', times: 2 }, { start_at_ms: Date.now() + 86_400_000 });
  await start('broken-1', 'hostile/stumble', null);
  await start('broken-2', 'hostile/stumble', null);
  await start('declined-1', 'hostile/decline', null);
  await start('killed-1', 'hostile/behave', { name: 'Ada', times: 1 });
  await api('POST', '/v1/invocations/killed-1/kill');
  await start('late-1', 'hostile/behave', { name: 'Ada', times: 1 }, { timeout_ms: 300 });
  await start('fan-1', 'fan-out/fan_out', { children: 12 });
  await start('lot-1', 'auction/auction', { name: 'Vase', least: 10, open_s: 86_400 });
  await api('POST', '/v1/graphs', { id: 'run-1', plan: { name: 'release', nodes: { build: { sleep: '10ms' }, test: { sleep: '20ms', needs: ['build'] }, lint: { sleep: '10ms', needs: ['build'] }, approved: { signal: 'approved', needs: ['test', 'lint'] }, publish: { sleep: '10ms', needs: ['approved'] } } } });
  await api('POST', '/v1/objects/signup/Signup/ada/run', { input: 'ada@example.org' });
  await api('POST', '/v1/schedules', { id: 'nightly', cron: '0 3 1 1 *', target: 'hello/hello', input: 'night' });
  await api('POST', '/v1/promises', { id: 'approval-7', timeout_ms: 259_200_000 });
  await api('POST', '/v1/promises', { id: 'pack-7', tags: { target: 'poll://any@packers' }, param: { func: 'pack', args: [7] } });
  // An external worker has it in hand, for ten minutes.
  await api('POST', '/v1/promises', { id: 'pack-8', tags: { target: 'poll://any@packers' }, param: { func: 'pack', args: [8] } });
  await api('POST', '/', { kind: 'task.acquire', head: { corrId: '1', version: '2026-04-01' }, data: { id: 'pack-8', version: 0, pid: 'packer-1', ttl: 600_000 } });
  // Its payment is refused, so what was booked before is given back.
  await start('trip-1', 'trip/trip', { traveller: 'Ada', city: 'Rome', nights: 2, payments: 'http://127.0.0.1:1' });
  await start('announce-1', 'flows/announce', 3);
  // It hands over after each two of its signals.
  await start('sum-1', 'herald/tally', [2, 0, null]);
  for (let number = 0; number < 5; number += 1) await api('POST', '/v1/invocations/sum-1/signals', { name: 'add', payload: number });
  // It ends by its promise, and makes another never; a signal comes before it begins.
  await start('early-1', 'herald/relay', 0, { start_at_ms: Date.now() + 1500 });
  await api('POST', '/v1/invocations/early-1/signals', { name: 'text', payload: 'nobody listens' });
  for (const name of ['never', 'done']) await api('POST', `/v1/promises/early-1%2Fp%2F${name}/resolve`, { value: 7 });
  // It is to be seen in two zones, and skips what comes while the last one goes on.
  await api('POST', '/v1/schedules', { id: 'each-second', cron: '* * * * * *', zone: 'Europe/Berlin', target: 'hostile/behave', input: { name: 'Ada', times: 1 }, overlap: 'skip' });
  for (const [wanted, id] of Object.entries(IN_STATE)) await is(id, wanted);
  await is('fan-1', 'resolved');
  await is('trip-1', 'rejected');
  await is('announce-1', 'resolved');
  await is('early-1', 'resolved');
  await until('a third generation has begun', async () => (await api('GET', '/v1/invocations/sum-1')).generation?.generations === 3);
  await until('an occurrence was skipped', async () => (await api('GET', '/v1/schedules/each-second')).skipped > 0);
  await api('POST', '/v1/schedules/each-second/pause');
  await until('there are events', async () => (await api('GET', '/v1/events?limit=1')).events.length > 0);
}
