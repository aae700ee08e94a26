// A real host in a temporary folder. The program is the one that SEGNO names.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after } from 'node:test';
import { Client } from '../src/index.js';

const PROGRAM = process.env['SEGNO'] ?? 'segno';
// From `build/test`.
export const SDKS = new URL('../../../', import.meta.url);

/** A host that a test may kill and start again. */
export class Host {
  #process: ChildProcess | undefined;
  #port = 0;

  private constructor(
    readonly folder: string,
    readonly options: string[],
  ) {}

  static async start(...options: string[]): Promise<Host> {
    const host = new Host(await mkdtemp(join(tmpdir(), 'segno-client-')), options);
    await host.up();
    return host;
  }

  get server(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async up(): Promise<void> {
    const { SEGNO_TOKEN: _, SEGNO_SERVER: __, ...env } = process.env;
    const host = spawn(
      PROGRAM,
      [
        ...['serve', '--data', this.folder, '--blobs', join(this.folder, 'blobs')],
        ...['--listen', `127.0.0.1:${this.#port}`, ...this.options],
      ],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env,
      },
    );
    this.#process = host;
    let text = '';
    this.#port = await new Promise<number>((resolve, reject) => {
      const look = (chunk: Buffer) => {
        text += chunk.toString();
        const port = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1];
        if (port) resolve(Number(port));
      };
      host.stdout?.on('data', look);
      host.stderr?.on('data', look);
      host.once('error', (error) =>
        reject(new Error(`${PROGRAM} cannot be started: name the program in SEGNO`, { cause: error })),
      );
      host.once('exit', () => reject(new Error(`the host ended:\n${text}`)));
    });
  }

  async kill(): Promise<void> {
    const host = this.#process;
    if (host === undefined || host.exitCode !== null || host.signalCode !== null) return;
    const gone = once(host, 'exit');
    host.kill('SIGKILL');
    await gone;
  }

  async close(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}

const component = (path: string) => readFile(fileURLToPath(new URL(path, SDKS)));

/** Deploys the components of the tests. */
export async function deployAll(client: Client): Promise<void> {
  await client.deploy(await component('../tests/contract/0.2.0.wasm'), { alias: 'parts' });
  await client.deploy(await component('../tests/contract/0.2.0-runs.wasm'), { alias: 'keys' });
  await client.deploy(await component('fixtures/herald.wasm'), { alias: 'herald' });
}

let shared: Promise<{ host: Host; client: Client }> | undefined;

/** One host with all components, for all suites of this process. */
export function sharedHost(): Promise<{ host: Host; client: Client }> {
  shared ??= (async () => {
    const host = await Host.start();
    const client = new Client({ server: host.server, token: '' });
    await client.ready({ waitMs: 30_000 });
    await deployAll(client);
    return { host, client };
  })();
  return shared;
}

after(async () => {
  await (await shared)?.host.close();
});

/** Resolves with the value of `look` as soon as it is not undefined. */
export async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 600; tries += 1) {
    const value = await look();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('it did not happen within 30 s');
}
