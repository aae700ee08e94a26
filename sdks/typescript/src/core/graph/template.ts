// Templates of plans: JSON with places that outputs of nodes fill.

/** The name of the input of a run in a template. */
export const INPUT = 'input';

/** A part of a value, by JSON pointer. `undefined` if there is none. */
export function partOf(value: unknown, pointer: string): unknown {
  let part = value;
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    const isPlace = Array.isArray(part) ? /^(0|[1-9][0-9]*)$/.test(key) : typeof part === 'object' && part !== null;
    if (!isPlace || !Object.hasOwn(part as object, key)) return undefined;
    part = (part as Record<string, unknown>)[key];
  }
  return part;
}

/** Fills the places of a template. `source` gives parts of outputs; one that is missing is null. */
export function filled(template: unknown, source: (from: string, at: string) => unknown): unknown {
  if (Array.isArray(template)) return template.map((one) => filled(one, source));
  if (typeof template !== 'object' || template === null) return template;
  if ('$from' in template) {
    const { $from, at = '' } = template as { $from: string; at?: string };
    return source($from, at) ?? null;
  }
  return Object.fromEntries(Object.entries(template).map(([key, one]) => [key, filled(one, source)]));
}
