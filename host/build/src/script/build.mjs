// From a JavaScript project to a component, run by `segno build` with Node:
//
//   node build.mjs TOOLS ENTRY CONTRACTS PROMISES FOLDER
//
// TOOLS is the folder whose `node_modules` has esbuild and componentize-qjs, ENTRY the source that exports `functions`,
// CONTRACTS the folder with a folder for each version of the contract, PROMISES the file `promise.js`, FOLDER where `bundle.js` and
// `component.wasm` are written.
// Runs in the project's folder. What is wrong is said on standard error, by file and line of the sources.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [tools, entry, contracts, promises, folder] = process.argv.slice(2);
const { build, formatMessages } = createRequire(path.join(tools, 'package.json'))('esbuild');
const bundle = path.join(folder, 'bundle.js');

function fail(text) {
  process.stderr.write(`${text.trim()}\n`);
  process.exit(1);
}

const shown = async (messages, kind) => (await formatMessages(messages, { kind, color: false, terminalWidth: 80 })).join('');

/// The bundle's lines: for each, where a column begins that is from another line of the sources.
function table(map) {
  const sources = map.sources.map((source) => path.relative('.', path.resolve(folder, source)));
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  let [source, line] = [0, 0];
  const lines = map.mappings.split(';').map((segments) => {
    const entries = [];
    let column = 0;
    for (const segment of segments.split(',').filter(Boolean)) {
      const fields = [];
      let [value, shift] = [0, 0];
      for (const digit of segment) {
        const bits = digits.indexOf(digit);
        value += (bits & 31) << shift;
        shift += 5;
        if (bits & 32) continue;
        fields.push(value & 1 ? -(value >> 1) : value >> 1);
        [value, shift] = [0, 0];
      }
      column += fields[0];
      source += fields[1] ?? 0;
      line += fields[2] ?? 0;
      const last = entries[entries.length - 1];
      if (fields.length > 1 && (last?.[1] !== source || last?.[2] !== line + 1)) entries.push([column, source, line + 1]);
    }
    return entries;
  });
  return { sources, lines };
}

/// `text` with the places of the bundle, `(/bundle.js:12:3)`, as places of the sources.
function inSources(text, { sources, lines }) {
  return text.replace(/[/]?bundle[.]js:([0-9]+):([0-9]+)/g, (place, line, column) => {
    const [, source, sourceLine] = (lines[line - 1] ?? []).filter((from) => from[0] < column).pop() ?? [];
    return source === undefined ? place : `${sources[source]}:${sourceLine}`;
  });
}

let built;
try {
  built = await build({
    entryPoints: [entry],
    outfile: bundle,
    bundle: true,
    format: 'esm',
    // QuickJS runs no promises of its own: `async` functions become generators, which wait on those of `promise.js`.
    target: 'es2016',
    external: ['segno:*'],
    inject: [promises],
    sourcemap: 'external',
    metafile: true,
    logLevel: 'silent',
    charset: 'utf8',
  });
} catch (error) {
  if (!error.errors) throw error;
  fail(await shown(error.errors, 'error'));
}
process.stderr.write(await shown(built.warnings, 'warning'));
const exported = Object.values(built.metafile.outputs).flatMap(({ exports }) => exports);
for (const name of ['functions', 'messages']) {
  if (exported.includes(name)) continue;
  fail(`${entry} exports no \`${name}\`: end it with \`export const { functions, messages, objects, runs, handlers, limits } = module({ workflows, activities });\``);
}
const whole = table(JSON.parse(readFileSync(`${bundle}.map`, 'utf8')));
// The shim's own lines explain nothing to an author.
const own = whole.sources.map((source) => /(^|[/])(segno|promise)[.]js$/.test(source));
const lines = whole.lines.map((entries) => entries.filter(([, source]) => !own[source]));
const kept = JSON.stringify({ sources: whole.sources, lines });
writeFileSync(bundle, `${readFileSync(bundle, 'utf8')}\nglobalThis.segnoLines = ${kept};\n`);

// The project's shim names the version of the contract for which it was made.
const [, version = '0.2.0'] = /from"?\s*["']segno:workflow[/][a-z]+@([0-9.]+)/.exec(readFileSync(bundle, 'utf8')) ?? [];
const wit = path.join(contracts, version);
if (!existsSync(wit)) fail(`the project is made for the contract ${version}, which is newer than this segno`);
// A project, and its shim, may be from a time when there was less to describe. Each world has what is in those after it.
const worlds = {
  runs: 'module-with-descriptions',
  limits: 'module-with-limits',
  handlers: 'module-with-handlers',
  objects: 'module-with-objects',
  messages: 'module-with-messages',
};
const names = Object.keys(worlds);
const largest = names.findIndex((name) => exported.includes(name));
const lacking = names.slice(largest).find((name) => !exported.includes(name));
if (lacking) fail(`${entry} exports \`${names[largest]}\` without \`${lacking}\`: export both`);
const world = worlds[names[largest]];

const component = path.join(folder, 'component.wasm');
const made = spawnSync(
  path.join(tools, 'node_modules/.bin/componentize-qjs'),
  ['--wit', wit, '--world', world, '--js', bundle, '--module-root', folder, '--sync', '-o', component],
  { encoding: 'utf8' },
);
if (made.error) fail(`componentize-qjs could not be run: ${made.error.message}`);
if (made.status !== 0) fail(inSources(made.stderr, whole).replace(/^Error: .*? evaluation: /, ''));
