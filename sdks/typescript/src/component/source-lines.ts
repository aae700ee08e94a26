// From frames of the bundle to frames of the author's sources.

import type { FrameReader } from '../core/defect.js';

/** The table that the build puts at the end of the bundle. */
interface SourceTable {
  sources: string[];
  /** For each line of the bundle, `COLUMN,SOURCE,LINE` for every column that begins another line of the sources. */
  packed: string;
}

/** `    at price (/bundle.js:12:3)` as `    at price (src/prices.ts:30)`. Frames of the SDK are left out. */
export const inSource: FrameReader = (frame) => {
  const place = /^(.*?)[(]?[^ (]*:([0-9]+):([0-9]+)[)]?$/.exec(frame);
  const { segnoLines: table } = globalThis as { segnoLines?: SourceTable };
  if (place === null || table === undefined) return frame;
  const [, at, line, column] = place;
  const entries = (table.packed.split('\n')[Number(line) - 1] ?? '').split(' ').map((entry) => entry.split(',').map(Number));
  const [, source, sourceLine] = entries.findLast(([from]) => from !== undefined && from < Number(column)) ?? [];
  return source === undefined ? undefined : `${at}(${table.sources[source]}:${sourceLine})`;
};
