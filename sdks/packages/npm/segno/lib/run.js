// Runs the program: passes signals on to it, and ends as it ends.
'use strict';

const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { binary } = require('./binary.js');

/** Signals that are passed on. A terminal sends SIGINT to the program as well, so it is only passed on without one. */
const SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR2', 'SIGCONT'];

/** Runs the program with these arguments, and ends this process as it ends. */
function run(arguments_) {
  let program;
  try {
    program = binary();
  } catch (error) {
    console.error(`segno: ${error.message}`);
    process.exitCode = 1;
    return;
  }
  const child = spawn(program, arguments_, { stdio: 'inherit', windowsHide: true });
  for (const signal of process.platform === 'win32' ? ['SIGINT', 'SIGTERM'] : SIGNALS) {
    process.on(signal, () => {
      if (signal === 'SIGINT' && process.stdin.isTTY) return;
      child.kill(signal);
    });
  }
  child.on('error', (error) => {
    console.error(`segno: ${program} cannot be run: ${error.message}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // If the signal does not end this process: the exit code that shells use.
    setTimeout(() => process.exit(128 + constants.signals[signal]), 100);
  });
}

module.exports = { run };
