// References to functions with their types: `segno types` writes them, or `reference` makes one.

import { InvalidArgumentError } from './errors.js';

/**
 * A function of a module, with its types. Generated ones are taken by `@segno/sdk`, too. `Messages` has the types of
 * its signals, promises, queries and updates.
 */
export interface FunctionReference<Input, Output, Messages = unknown> {
  /** The address of the function: `wasm://MODULE/FUNCTION`. */
  readonly address: string;
  /** The types, for the compiler only. */
  readonly '~types'?: { readonly input: (input: Input) => void; readonly output: Output } | undefined;
  /** The types of its messages, for the compiler only. */
  readonly '~messages'?: Messages | undefined;
}

/** The messages of a workflow by name. A kind that is absent takes any name and any value. */
export interface MessageTypes {
  /** The values of signals. */
  signals?: Record<string, unknown>;
  /** The values of promises that it awaits by name. */
  promises?: Record<string, unknown>;
  /** Inputs and answers of queries. */
  queries?: Record<string, { input: unknown; output: unknown }>;
  /** Inputs and answers of updates. */
  updates?: Record<string, { input: unknown; output: unknown }>;
}

/**
 * A reference to a function, by its target `MODULE/FUNCTION` or `MODULE/OBJECT@KEY/FUNCTION`.
 *
 * ```ts
 * const order = reference<{ item: string }, string, { signals: { approved: boolean } }>('shop/order');
 * const receipt = await client.call(order, { item: 'tea' });
 * ```
 */
export function reference<Input, Output, Messages extends MessageTypes = MessageTypes>(
  target: string,
): FunctionReference<Input, Output, Messages> {
  return { address: addressOf(target) };
}

/** The target of a start, for the host. */
export function addressOf(target: string | { readonly address: string }): string {
  const address: unknown = typeof target === 'object' && target !== null ? target.address : target;
  if (typeof address !== 'string' || address === '') {
    throw new InvalidArgumentError(
      `\`${String(target)}\` is not a function: pass its name, such as \`shop/order\`, or a reference of \`segno types\``,
    );
  }
  return address;
}

/** Input and options of a call: an input that may be undefined may be left out. */
export type Arguments<Input, Options> = undefined extends Input
  ? [input?: Input, options?: Options]
  : [input: Input, options?: Options];

/** The declared messages of one kind. */
type Declared<Messages, Kind extends keyof MessageTypes> = Messages extends { readonly [K in Kind]: infer Types }
  ? Types
  : {};

/** The names of the declared messages of one kind. */
export type MessageName<Messages, Kind extends keyof MessageTypes> = keyof Declared<Messages, Kind> & string;

/** A name that is not declared: any, if nothing is declared about this kind. */
export type FreeName<Messages, Kind extends keyof MessageTypes> = Messages extends { readonly [K in Kind]: unknown }
  ? never
  : string;

/** The value of a signal or a promise. */
export type MessageValue<
  Messages,
  Kind extends 'signals' | 'promises',
  Name extends MessageName<Messages, Kind>,
> = Declared<Messages, Kind>[Name];

/** The input of a query or an update. */
export type HandlerInput<
  Messages,
  Kind extends 'queries' | 'updates',
  Name extends MessageName<Messages, Kind>,
> = Declared<Messages, Kind>[Name] extends { input: infer Input } ? Input : unknown;

/** The answer to a query or an update. */
export type HandlerOutput<
  Messages,
  Kind extends 'queries' | 'updates',
  Name extends MessageName<Messages, Kind>,
> = Declared<Messages, Kind>[Name] extends { output: infer Output } ? Output : unknown;
