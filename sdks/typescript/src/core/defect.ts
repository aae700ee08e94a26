// What was thrown, for its author: where, and a message in the words of the language.

import { shown } from './value.js';

/** A place in the author's sources and a message. */
export interface DefectReport {
  /** `src/order.ts:12`, if it is known. */
  at: string | undefined;
  /** The message with the frames of the stack. */
  message: string;
}

/** Gives the frame in the author's sources, or undefined for a frame that explains nothing to an author. */
export type FrameReader = (frame: string) => string | undefined;

const PLACE = /[(]?([^\s()]+:[0-9]+)(?::[0-9]+)?[)]?$/;
const HINTS: Record<string, string> = {
  process: 'there is no `process` here: an activity reads settings with `ctx.env(name)`',
  Buffer: 'there is no `Buffer` here: use `Uint8Array`, `TextEncoder` and `btoa`',
  require: 'there is no `require` here: use `import`',
  Intl: 'there is no `Intl` here: format texts by hand, or with a package such as date-fns',
  window: 'there is no page here',
  document: 'there is no page here',
  XMLHttpRequest: 'there is no `XMLHttpRequest` here: use `fetch`',
  WebSocket: 'there are no sockets here: use `fetch`',
  setImmediate: 'there is no `setImmediate` here: use `queueMicrotask` or `setTimeout`',
  WebAssembly: 'there is no `WebAssembly` here',
  Worker: 'there are no threads here',
};

/** The report of something that was thrown. Without a place of its own it is reported at that of the function, `made`. */
export function defect(error: unknown, read: FrameReader, made?: Error): DefectReport {
  const framesIn = (one: Error) =>
    framesOf(one).map(read).filter((frame) => frame !== undefined).filter((frame, place, all) => frame !== all[place - 1]);
  const placeIn = (frames: string[]): string | undefined => {
    const own = frames.find((frame) => !frame.includes('node_modules/')) ?? frames[0];
    return own === undefined ? undefined : PLACE.exec(own)?.[1];
  };
  const otherwise = made && placeIn(framesIn(made));
  if (!(error instanceof Error)) {
    return { at: otherwise, message: `${shown(error)} was thrown, which is no Error: \`throw new Error(…)\` knows where it was made` };
  }
  const frames = framesIn(error);
  const at = placeIn(frames) ?? otherwise;
  const parts = [textOf(error), ...frames];
  if (error instanceof AggregateError) parts.push(...error.errors.map((one: unknown) => `  of several: ${one instanceof Error ? textOf(one) : shown(one)}`));
  if (error.cause !== undefined) parts.push(`  caused by: ${error.cause instanceof Error ? textOf(error.cause) : shown(error.cause)}`);
  return { at, message: parts.join('\n') };
}

/** The lines of the stack that are frames. */
export function framesOf(error: Error): string[] {
  return String(error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line) && !line.includes('(native)') && !line.includes('node:internal'));
}

/** Adds to the error what to use in place of a global that does not exist. */
export function explained(error: unknown): unknown {
  if (error instanceof ReferenceError) error.message = textOf(error).replace(/^ReferenceError: /, '');
  return error;
}

function textOf(error: Error): string {
  const text = String(error);
  const [, missing] = /^ReferenceError: '?([A-Za-z]+)'? is not defined$/.exec(text) ?? [];
  const hint = missing === undefined ? undefined : HINTS[missing];
  return hint === undefined ? text : `${text}: ${hint}`;
}
