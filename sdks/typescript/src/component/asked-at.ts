// The place of a command at which the host stops the workflow.

import * as journal from 'segno:workflow/journal@0.2.0';
import { framesOf } from '../core/defect.js';
import { inSource } from './source-lines.js';

/** The index that the host gives such a command. */
const STOPPED = 0xffff_fffe;
/** Frames of the SDK are between those of the author. */
const FRAMES = 50;

/** Gives the index of a command that goes on. Otherwise tells the host where the author asked for it, and the call ends. */
export function going(index: number): number {
  // The engine gives large indices as negative numbers.
  if (index >>> 0 === STOPPED) journal.log('error', ['asked at', ...askedAt()].join('\n'));
  return index;
}

function askedAt(): string[] {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = FRAMES;
  const frames = framesOf(new Error()).map(inSource).filter((frame) => frame !== undefined);
  Error.stackTraceLimit = limit;
  const own = frames.filter((frame) => !frame.includes('node_modules/'));
  return (own.length === 0 ? frames : own).map((frame) => frame.replace(/<anonymous> [(](.*)[)]$/, '$1'));
}
