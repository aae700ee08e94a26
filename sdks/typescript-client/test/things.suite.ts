import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import {
  type Client,
  type ConflictError,
  type ExecutionFailedError,
  InvalidArgumentError,
  type NotFoundError,
} from '../src/index.js';
import { type Host, sharedHost } from './host.js';

suite('objects, schedules, modules', () => {
  let client: Client;
  let host: Host;
  before(async () => {
    ({ client, host } = await sharedHost());
  });

  test('an object is called, started and read', async () => {
    const tally = client.object('parts/Tally', 'a/b c');
    assert.equal(tally.name, 'parts/Tally@a/b c');
    assert.equal(await tally.call<number>('add', 3), 3);
    const started = await tally.start<number>('add', 4, { id: 'object/1' });
    assert.equal(await started.result(), 7);
    assert.equal(await tally.get<number>('count'), 7);
    assert.equal(await tally.get('nothing'), undefined);
    assert.equal((await tally.status()).state['count'], 7);
    assert.equal(await client.call<number>('parts/Tally@a/b c/add', 1), 8);
  });

  test('the state of an object is changed from outside', async () => {
    const tally = client.object('parts/Tally', 'outside');
    await tally.set({ count: 40, snake_case: { inner_name: 1 } });
    assert.equal(await tally.call<number>('add', 2), 42);
    assert.deepEqual(await tally.get('snake_case'), { inner_name: 1 });
    assert.equal((await tally.clear(['snake_case'])).state['snake_case'], undefined);
    assert.deepEqual((await tally.clear()).state, {});
  });

  test('objects are listed by name', async () => {
    await client.object('parts/Tally', 'listed').call('add', 1);
    const items = await client.objects({ prefix: 'parts/Tally@list', pageSize: 1 }).take(5);
    assert.deepEqual(
      items.map(({ object }) => object),
      ['parts/Tally@listed'],
    );
  });

  test('a run by key waits for a promise of its object', async () => {
    const visit = client.object('keys/Visit', 'ada');
    assert.equal((await visit.promise('confirmed').status()).state, 'pending');
    const run = await visit.start<[string, number]>('run', 'ada');
    assert.equal(run.id, 'keys/Visit@ada/run');
    assert.equal((await visit.promise<number>('confirmed').resolve(7)).changed, true);
    assert.deepEqual(await run.result(), ['ada', 7]);
    await assert.rejects(visit.call('confirm', 8), (error: ExecutionFailedError) => error.failure.code === 409);
    const refused = client.object('keys/Visit', 'bob');
    await refused.promise('confirmed').reject({ code: 403, message: 'fully booked' });
    await assert.rejects(refused.call('run', 'bob'), {
      message: '`keys/Visit@bob/run` failed: fully booked (code 403)',
    });
  });

  test('a second run of a key is refused', async () => {
    const visit = client.object('keys/Visit', 'twice');
    await visit.start('run', 'x');
    await assert.rejects(
      visit.start('run', 'x', { id: 'another' }),
      (error: ConflictError) => error.code === 'ran-already',
    );
  });

  test('a kind without an object is refused before anything is sent', () => {
    assert.throws(() => client.object('Tally', 'a'), InvalidArgumentError);
  });

  test('a schedule is made, paused, triggered, back-filled and removed', async () => {
    const schedule = await client.createSchedule({
      id: 'nightly',
      cron: '0 3 * * *',
      zone: 'Europe/Berlin',
      target: 'parts/leaf',
      input: 9,
      labels: { by: 'clock' },
      overlap: 'allow',
    });
    assert.equal(schedule.created, true);
    const status = await schedule.status();
    assert.deepEqual([status.zone, status.paused, status.upcoming?.length], ['Europe/Berlin', false, 10]);
    assert.equal((await schedule.pause()).paused, true);
    assert.equal((await schedule.resume()).paused, false);
    const started = await schedule.trigger<number>({ at: 1_000 });
    assert.equal((await schedule.trigger({ at: 1_000 })).id, started.id);
    assert.equal(await started.result(), 9);
    const day = 86_400_000;
    const filled = await schedule.backfill(Date.now() - 2 * day, Date.now());
    assert.equal(filled.started + filled.existing, 2);
    assert.deepEqual(
      (await client.schedules({ label: 'by=clock' }).take(5)).map(({ id }) => id),
      ['nightly'],
    );
    assert.equal((await schedule.delete()).changed, true);
    await assert.rejects(
      client.schedule('nightly').status(),
      (error: NotFoundError) => error.code === 'unknown-schedule',
    );
  });

  test('modules are described, downloaded, deployed again and taken away', async () => {
    const module = await client.module('parts');
    assert.ok(module.functions.some((one) => one.name === 'chain' && one.kind === 'workflow' && one.inputSchema));
    const limited = module.functions.find((one) => one.name === 'visits')?.limit;
    assert.deepEqual([limited?.perKey?.concurrency, limited?.total?.rate?.periodMs], [1, 1_000]);
    const bytes = await client.component('parts');
    assert.equal(bytes.length, module.size);
    const again = await client.deploy(bytes, { alias: 'copy' });
    assert.deepEqual([again.created, again.alias, again.module.digest], [false, 'copy', module.digest]);
    assert.equal((await client.undeploy('copy')).alias, 'copy');
    assert.equal((await client.modules()).modules.length, 3);
    await assert.rejects(client.start('copy/leaf', 1), (error: NotFoundError) => error.code === 'unknown-module');
  });

  test('health, readiness, and a route without a method', async () => {
    assert.equal((await client.health()).status, 'ok');
    assert.equal((await client.ready({ waitMs: 5_000 })).status, 'ready');
    const limits = (await client.request('GET', '/v1/limits')) as { items: { limit: string }[] };
    assert.ok(Array.isArray(limits.items));
    const set = await client.request('PUT', '/v1/limits/parts/turns', {
      body: { per_key: { concurrency: 50 } },
      isRepeatable: true,
    });
    assert.equal((set as { source: string }).source, 'operator');
    await client.request('DELETE', '/v1/limits/parts/turns');
  });

  test('address and token come from the environment, as for the command line', async () => {
    const { SEGNO_SERVER: server, SEGNO_TOKEN: token } = process.env;
    process.env['SEGNO_SERVER'] = `${host.server}/`;
    process.env['SEGNO_TOKEN'] = 'from the environment';
    try {
      const { Client } = await import('../src/index.js');
      assert.equal(new Client().server, host.server);
      assert.equal((await new Client().health()).status, 'ok');
    } finally {
      restore('SEGNO_SERVER', server);
      restore('SEGNO_TOKEN', token);
    }
  });
});

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}
