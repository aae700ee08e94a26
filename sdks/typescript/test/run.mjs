// Runs all tests: the types, then the programs. The tests on a host need its program: `SEGNO=/path/to/segno npm test`.

import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';

const folder = import.meta.dirname;
const run = (program, ...given) => {
  const { status } = spawnSync(program, given, { stdio: 'inherit', cwd: path.dirname(folder) });
  if (status !== 0) process.exit(status ?? 1);
};
for (const types of ['types', 'types/alone']) run(process.execPath, 'node_modules/typescript/bin/tsc', '-p', path.join(folder, types));
const tests = readdirSync(folder).filter((name) => name.endsWith('.test.mjs'));
run(process.execPath, '--test', ...tests.map((name) => path.join(folder, name)));
