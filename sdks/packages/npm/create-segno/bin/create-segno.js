#!/usr/bin/env node
// `npm create segno@latest NAME`: makes a project, as `segno new` does, in TypeScript unless `--lang` says otherwise.
'use strict';

const { run } = require('segno');

const arguments_ = process.argv.slice(2);
const names = arguments_.filter((one, at) => !one.startsWith('-') && arguments_[at - 1] !== '--lang');
const isHelp = arguments_.some((one) => one === '-h' || one === '--help');
if (names.length === 0 && !isHelp) {
  console.error(
    'usage: npm create segno@latest NAME [-- --lang LANGUAGE]\n\n' +
      'NAME is the new folder, whose name becomes the name of the project. LANGUAGE is ts, js, py or rust.',
  );
  process.exitCode = 2;
} else {
  const hasLanguage = arguments_.some((one) => one === '--lang' || one.startsWith('--lang='));
  run(['new', ...arguments_, ...(hasLanguage || isHelp ? [] : ['--lang', 'ts'])]);
}
