// Finds the program of this platform.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { platforms } = require('./platforms.json');

/** The kind of the C library of a Linux machine: `glibc` or `musl`. */
function libc() {
  const { header } = /** @type {any} */ (process.report?.getReport?.() ?? {});
  return header === undefined || header.glibcVersionRuntime ? 'glibc' : 'musl';
}

/**
 * Returns the path of the program. The variable SEGNO_BINARY names another one.
 *
 * @throws {Error} whose message says what to do, if there is none for this platform.
 */
function binary() {
  const { SEGNO_BINARY: other } = process.env;
  if (other) {
    if (!fs.existsSync(other)) throw new Error(`SEGNO_BINARY names \`${other}\`, which does not exist`);
    return other;
  }
  const name = `${process.platform}-${process.arch}`;
  const platform = platforms[name];
  if (platform === undefined)
    throw new Error(
      `there is no Segno for ${name}; there is one for ${Object.keys(platforms).join(', ')}. ${FROM_SOURCE}`,
    );
  if (!platform.isReleased) throw new Error(`this release of Segno has no program for ${name}. ${FROM_SOURCE}`);
  // Only a musl machine needs the report, which takes a while.
  const package_ = `@segno/cli-${name}`;
  try {
    return path.join(path.dirname(require.resolve(`${package_}/package.json`)), 'bin', platform.file);
  } catch {
    if (process.platform === 'linux' && platform.libc === 'glibc' && libc() === 'musl') {
      throw new Error(
        `this machine has musl (as Alpine does), and Segno's program for ${name} needs glibc: ` +
          `use a Debian or Ubuntu image. ${FROM_SOURCE}`,
      );
    }
    throw new Error(
      `the package \`${package_}\` is not installed, which has Segno's program for this machine. ` +
        'Install without `--omit=optional` and `--no-optional`, and do not copy node_modules from another platform; ' +
        'or name a program in SEGNO_BINARY',
    );
  }
}

const FROM_SOURCE = 'Build it from source (`cargo install --path host` in the repository), and name it in SEGNO_BINARY';

module.exports = { binary };
