// Runs programs in the test kit, and writes what they gave.
//
//   node native.mjs SCENARIOS OUT [PROGRAM…]

import { writeFileSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Failure } from '@segno/sdk';
import { TestHost } from '@segno/sdk/testing';

const SHOP = 'http://shop.test';
const folder = import.meta.dirname;
const outfile = path.join(folder, 'build/native.mjs');

/** The module, for Node: its types are removed. */
async function build() {
  const { build: bundle } = createRequire(path.join(folder, '../../typescript/package.json'))('esbuild');
  await bundle({ entryPoints: [path.join(folder, 'index.ts')], outfile, bundle: true, format: 'esm', platform: 'node', external: ['@segno/sdk'], sourcemap: 'inline' });
}

/** A body in pieces of 5 bytes, which cut characters and lines. */
function piecesOf(text) {
  const bytes = new TextEncoder().encode(text);
  return Array.from({ length: Math.ceil(bytes.length / 5) }, (_, number) => bytes.slice(5 * number, 5 * number + 5));
}

/** The server of one program: each answer once, the last one again and again. */
function serve(t, answers) {
  const left = Object.fromEntries(Object.entries(answers).map(([request, given]) => [request, [...given]]));
  t.onHttp('*', SHOP, ({ method, url }) => {
    const given = left[`${method} ${url.slice(SHOP.length)}`] ?? [[404, null]];
    const [status, value] = given.length > 1 ? given.shift() : given[0];
    if (value?.in_pieces !== undefined) return { status, pieces: piecesOf(value.in_pieces) };
    const body = JSON.stringify(value);
    return { status, body, headers: { 'content-type': 'application/json', 'content-length': String(new TextEncoder().encode(body).length) } };
  });
}

/** Sends a step of the scenario; gives what was asked, if it has an answer. */
function tell(t, definition, step, number) {
  const after = step.at ?? 300 + 100 * number;
  if (step.signal) t.signal(step.signal, step.value, { after });
  else if (step.resolve) t.promise(step.resolve).after(after).resolve(step.value);
  else if (step.reject) t.promise(step.reject).after(after).reject(new Failure(step.code, step.message));
  else if (step.cancel) t.cancelAfter(after);
  else if (step.update) return t.update(definition, step.update, step.value, { after });
  else if (step.query) return t.query(definition, step.query, step.value, { after });
  return undefined;
}

function answerOf(asked) {
  try {
    return { value: asked.answer() ?? null };
  } catch (error) {
    return { code: error.code };
  }
}

/** `FILE:LINE` of a defect: the first line of the author's in its stack. */
const placeOf = (error) => /\(?(?:file:[/][/])?([^\s()]*[.]ts:[0-9]+):[0-9]+/.exec(error.stack ?? '')?.[1] ?? /[^\s]*[.]ts:[0-9]+/.exec(String(error))?.[0];

async function run(module, settings, name, scenario) {
  const definition = Object.values(module).find((one) => one?.options?.name === name) ?? module[name];
  if (definition === undefined) return { error: 'there is no such program' };
  const t = new TestHost({ module, id: 'ID', name: 'conformance' });
  serve(t, scenario.http ?? {});
  const { refused } = scenario;
  if (refused) {
    t.onHttp('*', refused.url, () => {
      throw new Failure(refused.code, refused.message);
    });
  }
  for (const [target, { code, message }] of Object.entries(scenario.doubles ?? {})) {
    t.on(target, () => {
      throw new Failure(code, message);
    });
  }
  for (const [key, value] of Object.entries(settings.env)) t.env(key, value);
  for (const [key, value] of Object.entries(settings.secrets)) t.secret(key, value);
  for (const [key, value] of Object.entries(settings.files)) t.file(key, value);
  const asked = (scenario.steps ?? []).map((step, number) => tell(t, definition, step, number)).filter((one) => one !== undefined);
  const given = JSON.parse(JSON.stringify(scenario.input ?? null).replaceAll('URL', SHOP));
  let halted;
  try {
    await t.run(definition, given);
  } catch (error) {
    if (!(error instanceof Failure)) {
      if (!('halts' in scenario)) return { error: String(error.stack ?? error) };
      halted = placeOf(error) ?? String(error.stack);
    }
  }
  const journals = {};
  for (const id of scenario.journals ?? ['ID']) journals[id] = t.journal(id === 'ID' ? undefined : id);
  const streams = Object.fromEntries(Object.keys(scenario.streams ?? {}).map((one) => [one, t.stream(one)]));
  return { journals, streams, answers: asked.map(answerOf), halted_at: halted };
}

process.setSourceMapsEnabled(true);
if (process.argv[2] === '--build') {
  await build();
} else {
  const [, , scenarios, out, ...wanted] = process.argv;
  const { programs, settings } = JSON.parse(readFileSync(scenarios, 'utf8'));
  const module = await import(outfile);
  const results = {};
  for (const name of wanted) {
    try {
      results[name] = await run(module, settings, name, programs[name]);
    } catch (error) {
      results[name] = { error: String(error.stack ?? error) };
    }
  }
  writeFileSync(out, JSON.stringify(results));
}
