// Stacks of errors in tests: the frames of the author, without those of this package.

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type FrameReader, framesOf } from '../core/defect.js';

const PACKAGE = new URL('..', import.meta.url);

function isOwn(line: string): boolean {
  return line.includes(PACKAGE.href) || line.includes(fileURLToPath(PACKAGE));
}

/** `    at charge (file:///home/ada/shop/src/index.ts:30:5)` as `    at charge (src/index.ts:30)`, as a host shows it. */
export const inProject: FrameReader = (frame) => {
  const place = /^\s+at (.*?)[(]?((?:file:[/][/])?[/][^()]*):([0-9]+):[0-9]+[)]?$/.exec(frame);
  if (place === null || isOwn(frame)) return undefined;
  const [, name, file, line] = place as unknown as [string, string, string, string];
  const absolute = file.startsWith('file:') ? fileURLToPath(file) : file;
  const relative = path.relative('.', absolute);
  return `    at ${name || '<anonymous> '}(${relative.startsWith('..') ? absolute : relative}:${line})`;
};

/** Leaves the frames of this package out of an error. One that has no others gets the place of the function, `made`. */
export function withFramesOfAuthor(error: unknown, made: Error): unknown {
  if (!(error instanceof Error) || error.stack === undefined) return error;
  const lines = error.stack.split('\n').filter((line) => !/^\s+at /.test(line) || !isOwn(line));
  if (!lines.some((line) => /^\s+at /.test(line))) lines.push(...framesOf(made).filter((line) => !isOwn(line)).slice(0, 1));
  error.stack = lines.join('\n');
  return error;
}
