// Runs after the installation: puts the program itself in the place of `bin/segno`, so that no Node starts before it.
// Where that cannot be done, or install scripts are off, the script stays and does the same more slowly.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { binary } = require('./binary.js');

function install() {
  // npm on Windows makes scripts that call Node; Yarn runs `bin` by Node as well.
  if (process.platform === 'win32' || process.env.npm_config_user_agent?.startsWith('yarn/')) return;
  const place = path.join(__dirname, '..', 'bin', 'segno');
  const temporary = `${place}.new`;
  try {
    const program = binary();
    fs.rmSync(temporary, { force: true });
    try {
      fs.linkSync(program, temporary);
    } catch {
      fs.copyFileSync(program, temporary);
    }
    fs.chmodSync(temporary, 0o755);
    fs.renameSync(temporary, place);
  } catch {
    fs.rmSync(temporary, { force: true });
  }
}

install();
