// A file that an error comes from.

export function broken(): never {
  throw new RangeError('from a helper');
}
