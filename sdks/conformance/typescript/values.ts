// Values that JSON can say, from one side to the other.

import { activity, json, workflow } from '@segno/sdk';

export const echo = activity(async (value: unknown) => value);

const text = json<string>({ type: 'string' });
const echoed = (name: string) => workflow({ name, input: json<unknown>({}) }, async (value, ctx) => ctx.call(echo, value));

export const valueNumbers = echoed('value-numbers');
export const valueTexts = echoed('value-texts');
export const valueNested = echoed('value-nested');
export const valueNull = echoed('value-null');
export const valueEmpty = echoed('value-empty');

export const valueNone = workflow({ name: 'value-none' }, async () => {});

export const repeat = activity({ input: text }, async (character) => character.repeat(40_000));

export const length = activity(async (given: string) => {
  let count = 0;
  for (const _ of given) count += 1;
  return count;
});

const repeated = (name: string) => workflow({ name, input: text }, async (characters, ctx) => ctx.call(length, await ctx.call(repeat, characters)));

export const valueLarge = repeated('value-large');
export const valueLimit = repeated('value-limit');
