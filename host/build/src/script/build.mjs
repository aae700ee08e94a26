// From a JavaScript project to a component, run by `segno build` with Node:
//
//   node build.mjs TOOLS ENTRY CONTRACTS PROMISES FOLDER
//
// TOOLS is the folder whose `node_modules` has esbuild and componentize-qjs, ENTRY the source: it exports `functions`, or, in a
// project whose package.json depends on `@segno/sdk`, the durable functions themselves.
// CONTRACTS the folder with a folder for each version of the contract, PROMISES the file `promise.js`, FOLDER where `bundle.js` and
// `component.wasm` are written.
// Runs in the project's folder. What is wrong is said on standard error, by file and line of the sources.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
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

/// The folder of `@segno/sdk`, if the project depends on it.
function sdkOfProject() {
  const manifest = path.resolve('package.json');
  const { dependencies = {}, devDependencies = {} } = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')) : {};
  if (!('@segno/sdk' in dependencies) && !('@segno/sdk' in devDependencies)) return undefined;
  try {
    return path.dirname(createRequire(manifest).resolve('@segno/sdk/package.json'));
  } catch {
    return fail('package.json depends on `@segno/sdk`, which is not installed: run `npm install`');
  }
}

/// What takes the place of a module of Node.
const instead = {
  fs: 'an activity reads and writes files with `ctx.files`',
  'fs/promises': 'an activity reads and writes files with `ctx.files`',
  http: 'use `fetch`',
  https: 'use `fetch`',
  crypto: 'use the global `crypto` for random numbers, and a package in plain JavaScript for hashes',
  process: 'an activity reads settings with `ctx.env(name)`',
  path: 'join texts, or use a package such as pathe',
  'timers/promises': 'use `ctx.sleep`',
};

/// Refuses modules of Node in words that help. A package of the same name is taken.
const withoutNode = {
  name: 'without-node',
  setup(build) {
    const names = builtinModules.map((name) => name.replace(/[/]/g, '[/]')).join('|');
    build.onResolve({ filter: new RegExp(`^(node:.*|${names})$`) }, async ({ path: name, pluginData, ...where }) => {
      if (pluginData === 'asked') return undefined;
      const { importer, resolveDir, kind } = where;
      const found = name.startsWith('node:') ? undefined : await build.resolve(name, { importer, resolveDir, kind, pluginData: 'asked' });
      if (found && found.errors.length === 0) return found;
      const module = name.replace(/^node:/, '');
      const advice = instead[module] ? `: ${instead[module]}` : '';
      return { errors: [{ text: `\`${name}\` is a module of Node, and there is no Node in a component${advice}` }] };
    });
  },
};

const sdk = sdkOfProject();
const source = { sourcefile: 'segno-entry.js', resolveDir: path.resolve('.'), loader: 'js' };
const whole = path.resolve(entry).replaceAll('\\', '/');
const parts = sdk
  ? {
      stdin: {
        ...source,
        contents: [
          "import '@segno/sdk/polyfills';",
          `import * as exports from ${JSON.stringify(whole)};`,
          "import { component } from '@segno/sdk/component';",
          'export const { functions, messages, objects, runs, handlers, limits } = component(exports);',
        ].join('\n'),
      },
      // QuickJS knows the rest of the language.
      target: 'es2022',
      supported: { 'async-await': false, 'async-generator': false, 'for-await': false, using: false, bigint: true },
      inject: [path.join(sdk, 'dist/promise.js')],
      plugins: [withoutNode],
    }
  : { entryPoints: [entry], target: 'es2016', inject: [promises] };

let built;
try {
  built = await build({
    // QuickJS runs no promises of its own: `async` functions become generators, which wait on those of the injected file.
    ...parts,
    outfile: bundle,
    bundle: true,
    format: 'esm',
    external: ['segno:*'],
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
const lined = table(JSON.parse(readFileSync(`${bundle}.map`, 'utf8')));
// The shim's own lines explain nothing to an author.
const isOfSdk = (source) => sdk && (source.includes('node_modules/@segno/sdk/') || !path.relative(sdk, path.resolve(source)).startsWith('..'));
const shims = sdk ? /(^|[/])segno-entry[.]js$/ : /(^|[/])(segno|promise)[.]js$/;
const own = lined.sources.map((source) => isOfSdk(source) || shims.test(source));
const lines = lined.lines.map((entries) => entries.filter(([, source]) => !own[source]));
// A text takes a tenth of the memory that lists of numbers take.
const packed = lines.map((entries) => entries.map((entry) => entry.join(',')).join(' ')).join('\n');
const kept = JSON.stringify(sdk ? { sources: lined.sources, packed } : { sources: lined.sources, lines });
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
if (made.status !== 0) {
  const said = inSources(made.stderr, lined).replace(/^Error: .*? evaluation: /, '').split('\n');
  // Frames of the SDK, and of the generated entry, are not the author's.
  const isOwn = (line) => lined.sources.some((source, place) => own[place] && line.includes(`(${source}:`));
  fail(said.filter((line) => !sdk || !(isOwn(line) || line.includes('(native)'))).join('\n'));
}
