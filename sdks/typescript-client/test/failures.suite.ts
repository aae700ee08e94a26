import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type RequestListener, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, suite, test } from 'node:test';
import {
  Client,
  ConflictError,
  ForbiddenError,
  HostError,
  InvalidArgumentError,
  InvalidRequestError,
  NotFoundError,
  RequestTimeoutError,
  UnauthorizedError,
  UnavailableError,
  UnexpectedAnswerError,
  UnreachableError,
} from '../src/index.js';
import { answering } from './answering.js';
import { Host, deployAll, sharedHost, until } from './host.js';

const problem = (
  response: Parameters<RequestListener>[1],
  status: number,
  code: string,
  headers: Record<string, string> = {},
) => {
  response.writeHead(status, { 'content-type': 'application/problem+json', ...headers });
  response.end(
    JSON.stringify({
      type: `urn:segno:problem:${code}`,
      title: 'A title',
      status,
      detail: `it is ${code}`,
      code,
      more: [1],
    }),
  );
};

const json = (response: Parameters<RequestListener>[1], value: unknown) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
};

suite('refusals of a real host', () => {
  test('each family of codes has its class', async () => {
    const { client, host } = await sharedHost();
    const rejects = async (attempt: Promise<unknown>, family: new (...of: never[]) => Error, code: string) =>
      assert.rejects(attempt, (error: Error & { code?: string }) => {
        assert.ok(error instanceof family, `${error.constructor.name}: ${error.message}`);
        assert.equal(error.code, code);
        return true;
      });
    await rejects(client.start('nowhere/leaf'), NotFoundError, 'unknown-module');
    await rejects(client.start('parts/leaf', 'text'), InvalidRequestError, 'invalid-input');
    await rejects(client.start('leaf', 1), InvalidRequestError, 'invalid-target');
    await rejects(client.start('parts/leaf', 1, { id: '..' }), InvalidRequestError, 'invalid-id');
    await rejects(client.list({ label: 'x' }).take(1), InvalidRequestError, 'invalid-field');
    await rejects(client.deploy(new Uint8Array([1, 2])), InvalidRequestError, 'not-wasm');
    await rejects(client.request('GET', '/v1/nothing'), NotFoundError, 'unknown-route');
    await client.call('parts/leaf', 1, { id: 'ended' });
    await rejects(client.execution('ended').resume(), ConflictError, 'wrong-state');
    await client.start('parts/turns', { steps: 0, turns: 1 }, { id: 'not ended' });
    await rejects(client.promise('not ended').resolve(1), ConflictError, 'is-an-invocation');
    // The last one: the host may close the connection, because it does not read this body.
    await rejects(client.request('PUT', '/v1/events', { body: {} }), InvalidRequestError, 'method-not-allowed');
    const foreign = new Client({ server: host.server.replace('127.0.0.1', '0.0.0.0') });
    await rejects(foreign.modules(), ForbiddenError, 'foreign-host');
  });

  test('an input that does not fit names each place', async () => {
    const { client } = await sharedHost();
    await assert.rejects(client.start('parts/chain', { children: 'three' }), (error: InvalidRequestError) => {
      assert.deepEqual(
        (error.details['errors'] as { path: string }[]).map(({ path }) => path),
        ['/children'],
      );
      return true;
    });
  });

  test('a host with a token refuses others', async () => {
    const host = await Host.start('--token', 'right');
    after(() => host.close());
    await assert.rejects(new Client({ server: host.server, token: '' }).modules(), UnauthorizedError);
    await assert.rejects(new Client({ server: host.server, token: 'wrong' }).modules(), UnauthorizedError);
    assert.deepEqual((await new Client({ server: host.server, token: 'right' }).modules()).modules, []);
  });
});

suite('attempts', () => {
  test('503 and 429 are tried again after their time', async () => {
    const { client, seen } = await answering((number, _, response) => {
      if (number === 1) problem(response, 503, 'overloaded', { 'retry-after': '1' });
      else if (number === 2) problem(response, 429, 'too-many', { 'retry-after': '0' });
      else json(response, { status: 'ok', version: '1' });
    });
    const began = Date.now();
    await client.health();
    assert.equal(seen.length, 3);
    assert.ok(Date.now() - began >= 900, 'it waits for as long as the answer asks');
  });

  test('what stays unavailable is an error with its code, its details and the id of the request', async () => {
    const { client } = await answering((_, __, response) =>
      problem(response, 503, 'overloaded', { 'retry-after': '9', 'x-request-id': 'r-1' }),
    );
    await assert.rejects(client.health(), (error: UnavailableError) => {
      assert.ok(error instanceof UnavailableError);
      assert.deepEqual(
        [error.code, error.requestId, error.retryAfterMs, error.details],
        ['overloaded', 'r-1', 9_000, { more: [1] }],
      );
      return true;
    });
  });

  test('a read that took too long is not tried again', async () => {
    const { client, seen } = await answering((_, __, response) => problem(response, 503, 'read-too-long'));
    await assert.rejects(client.list().take(1), { code: 'read-too-long' });
    assert.equal(seen.length, 1);
  });

  test('a lost answer is asked for again where the same request is the same', async () => {
    const lose = (
      number: number,
      request: Parameters<RequestListener>[0],
      response: Parameters<RequestListener>[1],
    ) => {
      if (number === 1) request.socket.destroy();
      else
        json(response, {
          id: 'x',
          created: false,
          invocation: { id: 'x', state: 'resolved', output: 1, target: '', attempt: 0, created_at_ms: 0 },
        });
    };
    const safe = await answering(lose);
    const started = await safe.client.start('m/f', 1);
    assert.deepEqual([safe.seen.length, started.created], [2, true]);
    const object = await answering(lose);
    await assert.rejects(object.client.object('m/O', 'k').call('f'), UnreachableError);
    assert.equal(object.seen.length, 1);
    const named = await answering(lose);
    assert.equal(await named.client.object('m/O', 'k').call('f', 1, { id: 'x' }), 1);
  });

  test('an unknown outcome is tried again only where the same request is the same', async () => {
    const unknown = (number: number, _: unknown, response: Parameters<RequestListener>[1]) =>
      number === 1 ? problem(response, 503, 'unknown-outcome') : json(response, { id: 'x', changed: true });
    const safe = await answering(unknown);
    assert.equal((await safe.client.execution('x').kill()).changed, true);
    const unsafe = await answering(unknown);
    await assert.rejects(unsafe.client.execution('x').resume(), { code: 'unknown-outcome' });
  });

  test('a silent host is an error, and so is what does not speak the API', async () => {
    const silent = await answering(() => undefined);
    const impatient = new Client({ server: silent.client.server, requestTimeoutMs: 50, retry: false });
    await assert.rejects(impatient.health(), RequestTimeoutError);
    const fault = await answering((_, __, response) => problem(response, 500, 'internal'));
    await assert.rejects(fault.client.health(), HostError);
    const other = await answering((_, __, response) => response.end('<html>'));
    await assert.rejects(other.client.health(), UnexpectedAnswerError);
    const proxy = await answering((number, _, response) => {
      if (number === 1) response.writeHead(502).end('bad gateway');
      else json(response, { status: 'ok', version: '1' });
    });
    assert.equal((await proxy.client.health()).status, 'ok');
  });

  test('an address at which nothing is fails soon, and says what to do', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((closed) => server.close(closed));
    const began = Date.now();
    await assert.rejects(new Client({ server: `http://127.0.0.1:${port}` }).health(), (error: UnreachableError) => {
      assert.match(
        error.message,
        /no host answers at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\); start one with `segno serve`/,
      );
      return !error.wasSent;
    });
    assert.ok(Date.now() - began < 4_000);
    assert.throws(() => new Client({ server: '127.0.0.1:7766' }), InvalidArgumentError);
    assert.throws(() => new Client({ server: 'ftp://x' }), InvalidArgumentError);
    assert.throws(() => new Client({ requestTimeoutMs: Number.NaN }), InvalidArgumentError);
  });
});

suite('a host that dies and comes back', () => {
  test('waits, updates and readers of events go on', async () => {
    const host = await Host.start();
    after(() => host.close());
    const client = new Client({ server: host.server, token: '' });
    await client.ready({ waitMs: 30_000 });
    await deployAll(client);
    const turns = await client.start<number>('parts/turns', { steps: 1, turns: 1 }, { id: 'turns' });
    const result = turns.result();
    const words = await client.start('parts/collects', null, { id: 'words' });
    await words.halt();
    const update = words.update<number>('add_word', 'one');
    const topics = (async () => {
      for await (const event of client.events({ topic: 'news.*' })) return event.type;
      return undefined;
    })();
    await until(async () => ((await turns.status()).state === 'suspended' ? true : undefined));
    await host.kill();
    const started = client.call<number>('parts/leaf', 6, { id: 'while it was away' });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await host.up();
    assert.equal(await started, 6);
    await words.resume();
    assert.equal(await update, 1);
    await turns.promise('turn-0').resolve(null);
    assert.equal(await result, 1);
    await client.call('herald/announce', [1, 0]);
    assert.equal(await topics, 'news.number');
    await host.kill();
    const brief = new Client({ server: host.server, retry: { forMs: 200 } });
    await assert.rejects(brief.health(), UnreachableError);
  });
});
