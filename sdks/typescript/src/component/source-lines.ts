// From frames of the bundle to frames of the author's sources.

import type { FrameReader } from '../core/defect.js';

/** The table that the build puts at the end of the bundle: for each line, where a column begins that is from another line. */
interface SourceTable {
  sources: string[];
  lines: [column: number, source: number, line: number][][];
}

/** `    at price (/bundle.js:12:3)` as `    at price (src/prices.ts:30)`. Frames of the SDK are left out. */
export const inSource: FrameReader = (frame) => {
  const place = /^(.*?)[(]?[^ (]*:([0-9]+):([0-9]+)[)]?$/.exec(frame);
  const { segnoLines: table } = globalThis as { segnoLines?: SourceTable };
  if (place === null || table === undefined) return frame;
  const [, at, line, column] = place;
  const before = (table.lines[Number(line) - 1] ?? []).filter(([from]) => from < Number(column));
  const [, source, sourceLine] = before.at(-1) ?? [];
  return source === undefined ? undefined : `${at}(${table.sources[source]}:${sourceLine})`;
};
