// Builds modules, and runs a host. The host program is `SEGNO` of the environment, or `segno`.

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const program = process.env.SEGNO ?? 'segno';

/** Builds the project in `folder`; gives the path of the module. Errors of the build are thrown. */
export function build(folder) {
  const { status, stdout, stderr } = spawnSync(program, ['--json', 'build', folder, '--prepare'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr || stdout);
  return JSON.parse(stdout).path;
}

/** A host on a temporary folder. */
export class Host {
  constructor(port, folder = mkdtempSync(path.join(tmpdir(), 'segno-host-'))) {
    this.folder = folder;
    this.url = `http://127.0.0.1:${port}`;
    this.port = port;
  }

  /** Starts the host, and waits until it answers. */
  async start() {
    const log = openSync(path.join(this.folder, 'host.log'), 'a');
    const given = ['serve', '--data', path.join(this.folder, 'data'), '--listen', `127.0.0.1:${this.port}`];
    if (this.policy) given.push('--policy', this.policy);
    this.process = spawn(program, given, { stdio: ['ignore', log, log] });
    for (let tries = 0; tries < 300; tries += 1) {
      if (this.process.exitCode !== null) throw new Error(`the host ended: ${readFileSync(path.join(this.folder, 'host.log'), 'utf8')}`);
      const answer = await fetch(`${this.url}/v1/invocations?limit=1`).catch(() => undefined);
      if (answer?.ok) return this;
      await wait(100);
    }
    throw new Error('the host does not answer');
  }

  /** Ends the host as a power failure does. */
  async kill() {
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill('SIGKILL');
    await ended;
  }

  /** Ends the host and removes its folder. */
  async close() {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs a command of the command line; gives its output. */
  cli(...given) {
    const { status, stdout, stderr } = spawnSync(program, ['--server', this.url, ...given], { encoding: 'utf8' });
    return { status, stdout: stdout.trim(), stderr: stderr.trim() };
  }

  /** Uploads a component under a name. */
  deploy(component, name) {
    const { status, stderr, stdout } = this.cli('deploy', component, '--as', name);
    if (status !== 0) throw new Error(stderr || stdout);
    return stdout;
  }

  /** A request of the HTTP interface; gives its answer as JSON. */
  async request(method, route, body) {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await fetch(`${this.url}${route}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await answer.text();
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
  }

  /** Starts a function. */
  async invoke(target, id, input) {
    const { status, body } = await this.request('POST', '/v1/invocations', { target, id, input });
    if (status >= 300) throw new Error(JSON.stringify(body));
    return body;
  }

  /** Waits until an invocation has one of these states. */
  async until(id, states, seconds = 60) {
    let body;
    for (let tries = 0; tries < seconds * 10; tries += 1) {
      ({ body } = await this.request('GET', `/v1/invocations/${encodeURIComponent(id)}`));
      if (states.includes(body?.state)) return body;
      await wait(100);
    }
    throw new Error(`\`${id}\` does not become ${states.join(' or ')}: ${JSON.stringify(body)}`);
  }

  /** The records of an invocation's journal. */
  async journal(id) {
    const { body } = await this.request('GET', `/v1/invocations/${encodeURIComponent(id)}/journal`);
    return body.records;
  }
}
