// Writes the types of the API for the clients, from the OpenAPI document of a running host:
//
//   node generate.mjs [--check] [SERVER]
//
// With `--check` it writes nothing, and fails if a file differs from what it would write. SERVER defaults to
// SEGNO_SERVER.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fetchDocument, reduce } from './document.mjs';
import { python } from './python.mjs';
import { typescript } from './typescript.mjs';

/** The files, each with its content for `document`. */
export function filesOf(document) {
  const api = reduce(document);
  return [
    [new URL('../typescript-client/src/api.ts', import.meta.url), typescript(api)],
    [new URL('../python-client/src/segno_client/api.py', import.meta.url), python(api)],
  ];
}

async function main() {
  const isCheck = process.argv.includes('--check');
  const server =
    process.argv.slice(2).find((argument) => !argument.startsWith('-')) ??
    process.env.SEGNO_SERVER ??
    'http://127.0.0.1:7766';
  for (const [file, content] of filesOf(await fetchDocument(server))) {
    const path = fileURLToPath(file);
    if (!isCheck) {
      writeFileSync(file, content);
    } else if (readFileSync(file, 'utf8') !== content) {
      console.error(`${path} differs from the API of ${server}: run \`node sdks/api/generate.mjs ${server}\``);
      process.exitCode = 1;
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
