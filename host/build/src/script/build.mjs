// From a JavaScript project to the bundle of a module, run by `segno build` with Node:
//
//   node build.mjs TOOLS ENTRY PROMISES BUNDLE
//
// TOOLS is the folder whose `node_modules` has esbuild, ENTRY the source: it exports `functions`, or, in a project whose
// package.json depends on `@segno/sdk`, the durable functions themselves. PROMISES is the file `promise.js`, BUNDLE the file to
// write. Runs in the project's folder. What is wrong is said on standard error, by file and line of the sources.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import path from 'node:path';

const [tools, entry, promises, bundle] = process.argv.slice(2);
const { build, formatMessages } = createRequire(path.join(tools, 'package.json'))('esbuild');
const folder = path.dirname(bundle);
// The lines of a bundle begin after those of the runtime, so that a frame of the runtime is at no line of the sources.
const FIRST_LINE = 1000;
// How esbuild waits in a lowered function: by a promise that nobody sees. `promise.js` of the SDK waits without one.
const LOWERED_AWAIT = 'Promise.resolve(x.value).then(fulfilled, rejected)';
const LIGHT_AWAIT = 'globalThis.segnoAwait(x.value, fulfilled, rejected)';

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

/// Gives the bundle the contract as the runtime has it, whatever the version that the shim names.
const contract = {
  name: 'contract',
  setup(build) {
    build.onResolve({ filter: /^segno:workflow[/]/ }, ({ path }) => ({ path, namespace: 'contract' }));
    build.onLoad({ filter: /./, namespace: 'contract' }, ({ path }) => {
      const name = path.replace(/^segno:workflow[/]|@.*$/g, '');
      return { contents: `module.exports = globalThis.segnoContract[${JSON.stringify(name)}];` };
    });
  },
};

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

const database = 'an activity reaches a database through a server with HTTP';
/// What takes the place of packages that need Node or native code.
const insteadOf = {
  bcrypt: 'use bcryptjs',
  'node-fetch': 'use `fetch`',
  undici: 'use `fetch`',
  pg: database,
  mysql2: database,
  mongodb: database,
  ioredis: database,
  'better-sqlite3': database,
  sharp: 'process images on a server that an activity calls',
};

/// The package that a file belongs to, if it is not one of the project's own.
const packageOf = (file) => /^.*[/\\]node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\]+)/.exec(file)?.[1].replaceAll('\\', '/');

/// The name of the package in the specifier of an import.
const packageIn = (specifier) => specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1).join('/');

/// What packages need that a host does not have, by package: names of modules of Node, or native code.
const refused = new Map();
/// The packages that each package imports.
const imported = new Map();
/// The imports of packages in the author's files: file and specifier.
const ownImports = [];

function added(map, key, value) {
  if (!map.has(key)) map.set(key, new Set());
  map.get(key).add(value);
}

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
      const needing = packageOf(importer);
      if (needing !== undefined) {
        added(refused, needing, `\`${name}\` of Node`);
        return { path: name, external: true };
      }
      const advice = instead[name.replace(/^node:/, '')];
      return { errors: [{ text: `\`${name}\` is a module of Node, which a host does not have${advice ? `: ${advice}` : ''}` }] };
    });
    build.onResolve({ filter: /^[^./\\]/ }, ({ path: specifier, importer }) => {
      const importing = packageOf(importer);
      if (importing === undefined) ownImports.push({ importer, specifier });
      else added(imported, importing, packageIn(specifier));
      return undefined;
    });
    build.onLoad({ filter: /[.]node$/ }, ({ path: file }) => {
      const needing = packageOf(file);
      if (needing === undefined) return { errors: [{ text: `\`${file}\` has native code, which cannot run on a host: use plain JavaScript` }] };
      added(refused, needing, 'native code');
      return { contents: '' };
    });
  },
};

/// An error for each import of the author that leads to a refused package.
function refusals() {
  const errors = [];
  for (const { importer, specifier } of ownImports) {
    const name = packageIn(specifier);
    const reached = new Set([name]);
    for (const one of reached) for (const next of imported.get(one) ?? []) reached.add(next);
    const needing = [...reached].find((one) => refused.has(one));
    if (needing === undefined) continue;
    const advice = insteadOf[name] ?? insteadOf[needing] ?? 'use a package in plain JavaScript';
    const through = needing === name ? '' : ` needs the package \`${needing}\`, which`;
    errors.push({ text: `the package \`${name}\`${through} needs ${listed([...refused.get(needing)])}, which a host does not have: ${advice}`, location: located(importer, specifier) });
  }
  // Files of packages without an import of the author, such as those of a workspace.
  if (errors.length === 0) for (const [name, needed] of refused) {
    errors.push({ text: `the package \`${name}\` needs ${listed([...needed])}, which a host does not have: ${insteadOf[name] ?? 'use a package in plain JavaScript'}` });
  }
  return errors;
}

/// `a`, `b` and 3 more.
function listed(needed) {
  const [first, second, ...more] = needed.sort();
  if (second === undefined) return first;
  const last = more.length === 0 ? '' : ` and ${more.length} more`;
  const names = [first, second].map((text) => text.replace(/ of Node$/, ''));
  return `${names.join(last ? ', ' : ' and ')}${last}${needed.some((text) => text.endsWith(' of Node')) ? ' of Node' : ''}`;
}

/// The place of an import in a file.
function located(file, specifier) {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  const columns = lines.map((text) => Math.max(text.indexOf(`'${specifier}'`), text.indexOf(`"${specifier}"`)));
  const line = columns.findIndex((column) => column >= 0);
  if (line < 0) return null;
  return { file: path.relative('.', file), line: line + 1, column: columns[line], length: specifier.length + 2, lineText: lines[line] };
}

const sdk = sdkOfProject();
const source = { sourcefile: 'segno-entry.js', resolveDir: path.resolve('.'), loader: 'js' };
const whole = path.resolve(entry).replaceAll('\\', '/');
const parts = sdk
  ? {
      stdin: {
        ...source,
        contents: [
          "import '@segno/sdk/polyfills';",
          // Before the entry file, which then finds the globals in place.
          "import { component } from '@segno/sdk/component';",
          `import * as exports from ${JSON.stringify(whole)};`,
          'export const { functions, messages, objects, runs, handlers, limits, commits, exposures } = component(exports);',
        ].join('\n'),
      },
      // QuickJS knows the rest of the language.
      target: 'es2022',
      supported: { 'async-await': false, 'async-generator': false, 'for-await': false, using: false, bigint: true },
      inject: [path.join(sdk, 'dist/promise.js')],
      plugins: [contract, withoutNode],
    }
  : { entryPoints: [entry], target: 'es2016', inject: [promises], plugins: [contract] };

/// An error of esbuild whose advice does not fit, in words that do.
function worded(error) {
  const own = { ...error, pluginName: '' };
  if (error.text.startsWith('Top-level await')) {
    return { ...own, text: 'a top-level `await` cannot work, because a module is loaded without waiting: await inside of a workflow or an activity' };
  }
  const [, missing] = /^Could not resolve "([^"]+)"$/.exec(error.text) ?? [];
  if (missing === undefined || missing.startsWith('.')) return own;
  const name = packageIn(missing);
  return { ...own, text: `the package \`${name}\` is not installed: is it misspelled? If not: \`npm install ${name}\``, notes: [] };
}

let built;
try {
  built = await build({
    // QuickJS runs no promises of its own: `async` functions become generators, which wait on those of the injected file.
    ...parts,
    outfile: bundle,
    bundle: true,
    format: 'iife',
    globalName: 'segnoModule',
    sourcemap: 'external',
    logLevel: 'silent',
    charset: 'utf8',
  });
} catch (error) {
  if (!error.errors) throw error;
  fail(await shown([...error.errors.map(worded), ...refusals()], 'error'));
}
if (refused.size > 0) fail(await shown(refusals(), 'error'));
process.stderr.write(await shown(built.warnings, 'warning'));
const lined = table(JSON.parse(readFileSync(`${bundle}.map`, 'utf8')));
// The shim's own lines explain nothing to an author.
const isOfSdk = (source) => sdk && (source.includes('node_modules/@segno/sdk/') || !path.relative(sdk, path.resolve(source)).startsWith('..'));
const shims = sdk ? /(^|[/])segno-entry[.]js$/ : /(^|[/])(segno|promise)[.]js$/;
const own = lined.sources.map((source) => isOfSdk(source) || shims.test(source));
const lines = lined.lines.map((entries) => entries.filter(([, source]) => !own[source]));
// A text takes a tenth of the memory that lists of numbers take.
const shifted = [...Array(FIRST_LINE).fill([]), ...lines];
const packed = shifted.map((entries) => entries.map((entry) => entry.join(',')).join(' ')).join('\n');
const kept = JSON.stringify(sdk ? { sources: lined.sources, packed } : { sources: lined.sources, lines: shifted });
// First, so that an error while the bundle is loaded has its place.
const lowered = readFileSync(bundle, 'utf8');
// An older SDK has no such function.
const isLight = sdk && readFileSync(path.join(sdk, 'dist/promise.js'), 'utf8').includes('segnoAwait');
const code = isLight ? lowered.replace(LOWERED_AWAIT, LIGHT_AWAIT) : lowered;
// As in an ES module. A variable of strict code that is evaluated is no global.
const strict = `globalThis.segnoModule = (() => { 'use strict'; ${code}\nreturn segnoModule; })();`;
const explained = sdk ? `try { ${strict} } catch (error) { throw globalThis.segnoExplained?.(error) ?? error; }` : strict;
writeFileSync(bundle, `globalThis.segnoLines = ${kept};${'\n'.repeat(FIRST_LINE)}${explained}`);
