// From a JavaScript project to the bundle of a module, run by `segno build` with Node:
//
//   node build.mjs TOOLS ENTRY PROMISES BUNDLE
//
// TOOLS is the folder whose `node_modules` has esbuild, ENTRY the source that exports `functions`, PROMISES the file
// `promise.js`, BUNDLE the file to write. Runs in the project's folder. What is wrong is said on standard error, by file
// and line of the sources.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [tools, entry, promises, bundle] = process.argv.slice(2);
const { build, formatMessages } = createRequire(path.join(tools, 'package.json'))('esbuild');
const folder = path.dirname(bundle);
// The lines of a bundle begin after those of the runtime, so that a frame of the runtime is at no line of the sources.
const FIRST_LINE = 1000;

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

let built;
try {
  built = await build({
    entryPoints: [entry],
    outfile: bundle,
    bundle: true,
    format: 'iife',
    globalName: 'segnoModule',
    // QuickJS runs no promises of its own: `async` functions become generators, which wait on those of `promise.js`.
    target: 'es2016',
    plugins: [contract],
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
const whole = table(JSON.parse(readFileSync(`${bundle}.map`, 'utf8')));
// The shim's own lines explain nothing to an author.
const own = whole.sources.map((source) => /(^|[/])(segno|promise)[.]js$/.test(source));
const lines = whole.lines.map((entries) => entries.filter(([, source]) => !own[source]));
const kept = JSON.stringify({ sources: whole.sources, lines: [...Array(FIRST_LINE).fill([]), ...lines] });
const padding = '\n'.repeat(FIRST_LINE);
writeFileSync(bundle, `${padding}${readFileSync(bundle, 'utf8')}\nglobalThis.segnoLines = ${kept};\n`);
