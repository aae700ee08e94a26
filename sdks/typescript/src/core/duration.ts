// Lengths of time and instants, as authors write them.

/** A length of time: a number of milliseconds, or a text such as `'30s'`, `'1h 30m'`, `'2d'`. Units: ms, s, m, h, d, w. */
export type Duration = number | string;

/** A point in time: a `Date`, a number of milliseconds since the Unix epoch, or an ISO text. */
export type Instant = Date | number | string;

/** The end of the year 9999; no instant and no length is beyond it. */
const LONGEST_MS = 253_402_300_799_999;

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** The length in whole milliseconds. `what` names it in errors. */
export function milliseconds(length: Duration, what: string): number {
  const ms = typeof length === 'string' ? parsed(length) : length;
  if (typeof ms === 'number' && ms >= 0 && ms <= LONGEST_MS) return Math.ceil(ms);
  throw new RangeError(
    `${what} is ${shown(length)}: pass milliseconds, or a text such as '30s', '1h 30m' or '2d' (units: ms, s, m, h, d, w)`,
  );
}

/** The instant in milliseconds since the Unix epoch. `what` names it in errors. */
export function instantMs(instant: Instant, what: string): number {
  const ms = instant instanceof Date ? instant.getTime() : typeof instant === 'string' ? Date.parse(instant) : instant;
  if (typeof ms === 'number' && ms >= 0 && ms <= LONGEST_MS) return Math.ceil(ms);
  throw new RangeError(`${what} is ${shown(instant)}: pass a Date, milliseconds since 1970, or an ISO text`);
}

function parsed(text: string): number | undefined {
  const parts = text.trim().split(/\s+/);
  let sum = 0;
  for (const part of parts) {
    const [, number, unit] = /^([0-9]+(?:[.][0-9]+)?)(ms|s|m|h|d|w)$/.exec(part) ?? [];
    if (number === undefined || unit === undefined) return undefined;
    sum += Number(number) * (UNITS[unit] ?? 0);
  }
  return Math.round(sum);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
