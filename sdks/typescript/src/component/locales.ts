// QuickJS ignores locales. A locale that would be ignored is refused.

const METHODS: [object, string, number][] = [
  [Date.prototype, 'toLocaleString', 0],
  [Date.prototype, 'toLocaleDateString', 0],
  [Date.prototype, 'toLocaleTimeString', 0],
  [Number.prototype, 'toLocaleString', 0],
  [BigInt.prototype, 'toLocaleString', 0],
  [Array.prototype, 'toLocaleString', 0],
  [String.prototype, 'localeCompare', 1],
  [String.prototype, 'toLocaleLowerCase', 0],
  [String.prototype, 'toLocaleUpperCase', 0],
];

/** Replaces the methods that take a locale by ones that refuse what they would ignore. */
export function refuseLocales(): void {
  for (const [owner, name, place] of METHODS) {
    const plain = (owner as Record<string, ((...given: unknown[]) => unknown) | undefined>)[name];
    if (plain === undefined) continue;
    const refusing = function (this: unknown, ...given: unknown[]): unknown {
      const [locales, options] = given.slice(place);
      if (!isDefault(locales) || options !== undefined) {
        throw new TypeError(
          `\`${name}\` would ignore ${options === undefined ? `the locale ${JSON.stringify(locales)}` : 'its options'}, because there is no \`Intl\` here: format it by hand, or with a package such as date-fns`,
        );
      }
      return plain.apply(this, given);
    };
    Object.defineProperty(owner, name, { value: refusing, configurable: true, writable: true });
  }
}

function isDefault(locales: unknown): boolean {
  const [first, ...others] = Array.isArray(locales) ? locales : [locales];
  return others.length === 0 && (first === undefined || first === 'en' || first === 'en-US');
}
