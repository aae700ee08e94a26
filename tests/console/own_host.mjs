// A host of the script's own, which it ends and begins again.

import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { server, until } from './browser.mjs';

const { SEGNO, DATA } = process.env;

/** A host on the data directory with further arguments; `kill` ends it with a signal. */
export async function begin(...further) {
  const host = spawn(SEGNO, ['serve', '--data', DATA, '--listen', new URL(server).host, ...further], { stdio: 'ignore' });
  await until('the host is there', async () => fetch(`${server}/ready`).then((answer) => answer.ok, () => false), 60_000);
  return {
    async kill(signal) {
      const ended = once(host, 'exit');
      host.kill(signal);
      await ended;
    },
  };
}
