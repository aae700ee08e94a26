// Log lines of workflows and activities.

import type { Level } from './engine.js';
import { shown } from './value.js';

/** Writes log lines: `ctx.log('a text', value)` at the level info, and one function for each level. */
export interface Logger {
  /** At the level info. */
  (...values: unknown[]): void;
  /** For following every step. */
  trace(...values: unknown[]): void;
  /** For troubleshooting. */
  debug(...values: unknown[]): void;
  /** Normal operation. */
  info(...values: unknown[]): void;
  /** A potential problem. */
  warn(...values: unknown[]): void;
  /** An error. */
  error(...values: unknown[]): void;
}

/** A logger over a sink of lines. */
export function logger(sink: (level: Level, message: string) => void): Logger {
  const at = (level: Level) => (...values: unknown[]) => sink(level, values.map(shown).join(' '));
  return Object.assign(at('info'), { trace: at('trace'), debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') });
}
