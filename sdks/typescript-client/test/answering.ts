import { once } from 'node:events';
import { type RequestListener, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { Client } from '../src/index.js';

/** A server that answers with `listener`, and counts the requests. */
export async function answering(listener: (number: number, ...request: Parameters<RequestListener>) => void) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    request.resume();
    listener(seen.length, request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    seen,
    client: new Client({ server: address, token: '', retry: { initialMs: 5, forMs: 3_000 }, requestTimeoutMs: 500 }),
  };
}
