// Runs each program in the test kit and on a host, and compares outcomes, answers and journals, record by record.
//
//   SEGNO=/path/to/segno node compare.mjs [PROGRAM…]
//
// Programs whose order of events depends on instants that are 100 ms apart run only if they are named.

import { createRequire } from 'node:module';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Failure } from '@segno/sdk';
import { TestHost } from '@segno/sdk/testing';
import { Host, build } from '../../typescript/test/support/host.mjs';
import { scenarios } from './scenarios.mjs';

const folder = import.meta.dirname;
const wanted = process.argv.slice(2);
const chosen = scenarios.filter(({ program, needsIdleMachine }) => (wanted.length === 0 ? !needsIdleMachine : wanted.includes(program)));
const port = Number(process.env.SEGNO_PORT ?? 7802);

/** The module, for Node: its types are removed. */
async function nativeModule() {
  const { build: bundle } = createRequire(path.join(folder, '../../typescript/package.json'))('esbuild');
  const outfile = path.join(folder, 'build/native.mjs');
  await bundle({ entryPoints: [path.join(folder, 'index.ts')], outfile, bundle: true, format: 'esm', platform: 'node', external: ['@segno/sdk'], sourcemap: 'inline' });
  return import(outfile);
}

/** How the server answers the n-th request. */
const answers = (n, url) => (url.endsWith('/broken') ? [503, 'broken'] : url.endsWith('/charge') ? (n === 0 ? [503, 'later'] : [200, '{"id":"ch-1"}']) : url.endsWith('/missing') ? [404, 'no'] : [200, 'ä']);

async function natively(module, { program, input, steps = [], journals = [], isDefect }, server) {
  const definition = Object.values(module).find((one) => one?.options?.name === program || one?.assigned === program) ?? module[program];
  const t = new TestHost({ module, id: program, name: 'conformance' });
  let requests = 0;
  t.onHttp('*', server, ({ url }) => {
    const [status, body] = answers(requests++, url);
    return { status, body, headers: { 'content-type': 'text/plain' } };
  });
  const asked = [];
  for (const { at, signal, resolve, reject, code, message, value, cancel, update, query } of steps) {
    if (signal) t.signal(signal, value, { after: at });
    if (resolve) t.promise(resolve).resolve(value);
    if (reject) t.promise(reject).reject(new Failure(code, message));
    if (cancel) t.cancelAfter(at);
    if (update) asked.push(t.update(definition, update, value, { after: at }));
    if (query) asked.push(t.query(definition, query, value, { after: at }));
  }
  const given = input === 'server' ? server : input;
  const outcome = await t.run(definition, given).then((value) => ({ value: value ?? null }), (error) => {
    if (isDefect && !(error instanceof Failure)) return { defect: String(error) };
    if (error instanceof Failure) return { failure: shownFailure(error) };
    throw error;
  });
  const answersOf = asked.map((one) => {
    try {
      return { value: one.answer() ?? null };
    } catch (error) {
      return { code: error.code };
    }
  });
  const all = Object.fromEntries([program, ...journals].map((id) => [id, t.journal(id === program ? undefined : id)]));
  return { outcome, answers: answersOf, journals: all };
}

const shownFailure = ({ code, message, details }) => (details === undefined ? { code, message } : { code, message, details });

async function onHost(host, { program, input, steps = [], journals = [], isDefect }, server) {
  const given = input === 'server' ? server : (input ?? null);
  await host.invoke(`conformance/${program}`, program, given);
  const began = Date.now();
  const told = [];
  for (const { at, signal, resolve, reject, code, message, value, cancel, update, query, kill } of steps) {
    await wait(Math.max(0, began + at - Date.now()));
    const id = encodeURIComponent(program);
    const promise = (name) => `/v1/promises/${encodeURIComponent(`${program}/p/${name}`)}`;
    if (signal) await ok(host.request('POST', `/v1/invocations/${id}/signals`, { name: signal, payload: value }));
    if (resolve) await ok(host.request('POST', `${promise(resolve)}/resolve`, { value }));
    if (reject) await ok(host.request('POST', `${promise(reject)}/reject`, { failure: { code, message } }));
    if (cancel) await ok(host.request('POST', `/v1/invocations/${id}/cancel`, {}));
    if (update) {
      const { body } = await host.request('POST', `/v1/invocations/${id}/updates/${update}`, { input: value ?? null });
      told.push(body.state === 'completed' ? { value: body.output ?? null } : { code: body.failure?.code ?? body.code ?? body });
    }
    if (query) {
      const { body } = await host.request('POST', `/v1/invocations/${id}/queries/${query}`, { input: value ?? null });
      told.push('value' in body ? { value: body.value } : { code: body.failure?.code ?? body });
    }
    if (kill) {
      await host.kill();
      await host.start();
    }
  }
  const ended = await host.until(program === 'generation' ? 'generation/g/3' : program, ['halted', 'resolved', 'rejected', 'cancelled', 'failed', 'timed_out']);
  const outcome = isDefect ? { defect: String(host.cli('inspect', program).stdout) } : ended.state === 'resolved' ? { value: ended.output ?? null } : { failure: ended.failure ?? ended };
  const all = {};
  for (const id of [program, ...journals]) all[id] = await host.journal(id === 'generation' ? 'generation/g/3' : id);
  return { outcome, answers: told, journals: all };
}

async function ok(request) {
  const { status, body } = await request;
  if (status >= 300) throw new Error(JSON.stringify(body));
}

const SERVER_HEADERS = ['connection', 'date', 'keep-alive', 'transfer-encoding'];

/** A journal without what differs between any two runs: instants, digests of modules, random numbers. */
function comparable(records) {
  const shown = records.map(({ at_ms: at, module, seq, request, ...record }) => {
    const fields = { ...request };
    for (const name of ['until_ms', 'start_at_ms']) if (name in fields) fields[name] -= at;
    return { ...record, ...(request !== null && typeof request === 'object' && !Array.isArray(request) ? { request: fields } : { request }) };
  });
  // Results that came at about the same time have no order that both runs share.
  const ordered = [];
  for (const record of shown) {
    let place = ordered.length;
    while (record.kind === 'notified' && place > 0 && ordered[place - 1].kind === 'notified' && ordered[place - 1].index > record.index) place -= 1;
    ordered.splice(place, 0, record);
  }
  return JSON.parse(JSON.stringify(ordered), (name, value) => {
    if (SERVER_HEADERS.includes(name)) return undefined;
    // The host shows the name of a signal as JSON that is none.
    if (typeof value?.not_json === 'string') return value.not_json;
    // The host words what does not fit by the JSON schema, and the test kit by the library of the schema.
    if (value?.code === 400) return { code: 400 };
    if (typeof value === 'number' && !Number.isInteger(value)) return '<random>';
    if (typeof value === 'string') return value.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>');
    return value;
  });
}

function differences(native, hosted, isDefect) {
  const found = [];
  if (isDefect) {
    if (!hosted.outcome.defect.includes(native.outcome.defect)) found.push(`defect\n    test kit ${native.outcome.defect}\n    host     ${hosted.outcome.defect}`);
  } else if (!isDeepStrictEqual(comparable([native.outcome]), comparable([hosted.outcome]))) {
    found.push(`outcome\n    test kit ${JSON.stringify(native.outcome)}\n    host     ${JSON.stringify(hosted.outcome)}`);
  }
  if (!isDeepStrictEqual(native.answers, hosted.answers)) found.push(`answers\n    test kit ${JSON.stringify(native.answers)}\n    host     ${JSON.stringify(hosted.answers)}`);
  for (const id of Object.keys(native.journals)) {
    const [left, right] = [comparable(native.journals[id]), comparable(hosted.journals[id])];
    for (let place = 0; place < Math.max(left.length, right.length); place += 1) {
      if (isDeepStrictEqual(left[place], right[place])) continue;
      found.push(`journal of ${id}, record ${place}\n    test kit ${JSON.stringify(left[place])}\n    host     ${JSON.stringify(right[place])}`);
      break;
    }
  }
  return found;
}

let requests = 0;
const web = createServer((request, response) => {
  const [status, body] = answers(requests++, request.url);
  request.resume().on('end', () => response.writeHead(status, { 'content-type': 'text/plain' }).end(body));
});
await new Promise((resolve) => web.listen(0, '127.0.0.1', resolve));
const server = `http://127.0.0.1:${web.address().port}`;

const data = mkdtempSync(path.join(tmpdir(), 'segno-conformance-'));
const host = new Host(port, data);
host.policy = path.join(data, 'policy.toml');
writeFileSync(host.policy, '[conformance]\nhttp.allow = ["http://127.0.0.1:*"]\n');
let failed = 0;
try {
  const began = Date.now();
  const component = build(folder);
  const module = await nativeModule();
  await host.start();
  host.deploy(component, 'conformance');
  console.log(`built and deployed in ${((Date.now() - began) / 1000).toFixed(1)} s`);
  for (const scenario of chosen) {
    let found;
    try {
      const native = await natively(module, scenario, server);
      requests = 0;
      const hosted = await onHost(host, scenario, server);
      found = differences(native, hosted, scenario.isDefect);
      const replay = scenario.isDefect ? undefined : host.cli('replay', scenario.program === 'generation' ? 'generation/g/3' : scenario.program);
      if (replay !== undefined && replay.status !== 0) found.push(`replay\n    ${replay.stdout}${replay.stderr}`);
      const records = Object.values(native.journals).reduce((sum, { length }) => sum + length, 0);
      console.log(`${found.length === 0 ? 'same   ' : 'DIFFERS'} ${scenario.program} (${records} records${scenario.steps?.some(({ kill }) => kill) ? ', host killed' : ''})`);
    } catch (error) {
      found = [error.stack];
      console.log(`FAILED  ${scenario.program}`);
    }
    for (const difference of found) console.log(`  ${difference}`);
    failed += Number(found.length > 0);
  }
} finally {
  await host.close().catch(() => {});
  rmSync(data, { recursive: true, force: true });
  web.close();
}
console.log(failed === 0 ? `${chosen.length} programs are the same in the test kit and on the host` : `${failed} of ${chosen.length} programs differ`);
process.exitCode = failed === 0 ? 0 : 1;
