// Types of the Segno module `shop`; do not edit.
// Digest: 0000000000000000000000000000000000000000000000000000000000000000
// Command: segno types shop

/** A function of the module: `@segno/client` and `@segno/sdk` take it in place of a name. */
export interface FunctionReference<Input, Output, Messages = unknown> {
  /** The address of the function. */
  readonly address: string;
  /** The types, for the compiler only. */
  readonly '~types'?: { readonly input: (input: Input) => void; readonly output: Output } | undefined;
  /** The types of signals, promises, queries and updates, for the compiler only. */
  readonly '~messages'?: Messages | undefined;
}

export interface NightlyOutputDone {
  kind: 'done';
  last: string | null;
  orders: number;
}

export interface NightlyOutputFailed {
  kind: 'failed';
  reason: string;
}

/**
 * An order of a customer.
 * Schema: {"if":{"required":["gift"]},"then":{"required":["address"]}}
 */
export interface Order {
  address?: PostalAddress;
  anything?: unknown;
  /** Schema: {"minimum":0} */
  cents: number;
  /** @deprecated */
  class?: string;
  colour?: 'red' | 'dark-green' | 'class';
  /** Schema: {"format":"email"} */
  contact?: string | number | null;
  gift?: boolean | null;
  /**
   * Number of the order.
   * Schema: {"pattern":"^o-[0-9]+$"}
   */
  id: string;
  labels?: { [key: string]: string };
  /** Schema: {"minItems":1} */
  lines?: Line[];
  notes?: Json;
  'paid with'?: Payment;
  place?: [number, number];
  /** Schema: {"default":2} */
  priority?: 1 | 2 | 3;
  range?: [string, number?, ...boolean[]];
  version?: 1;
}

export interface PostalAddress {
  city: string;
  zip?: string;
  [key: string]: unknown;
}

export interface Line {
  cents: number;
  item: string;
  parts?: Line[];
}

export type Json = null | string | number | Json[] | { [key: string]: Json };

export type Payment = PaymentCard | PaymentInvoice | 'voucher';

export interface PaymentCard {
  kind: 'card';
  number: string;
}

export interface PaymentInvoice {
  /** Schema: {"minimum":0} */
  days?: number;
  kind: 'invoice';
}

export interface Approval {
  by: string;
}

export interface SendMailInput {
  order?: Order2;
  to: string;
}

export interface Order2 {
  id: string;
}

/** The functions of the module `shop`. */
export const shop = {
  delete: { address: 'wasm://shop/delete' } as FunctionReference<
    unknown,
    unknown,
    {
      queries: {};
      updates: {};
    }
  >,
  nightly: { address: 'wasm://shop/nightly' } as FunctionReference<
    null | undefined,
    NightlyOutputDone | NightlyOutputFailed,
    {
      signals: {};
      queries: {};
      updates: {};
    }
  >,
  /**
   * Charges an order when somebody approves it. A comment may end with *\/ and """.
   * Schema: output {"maxLength":40}
   */
  order: { address: 'wasm://shop/order' } as FunctionReference<
    Order,
    string | null,
    {
      signals: {
        approved: Approval;
        stop: null | undefined;
      };
      promises: {
        'receipt-sent': boolean;
      };
      queries: {
        /** How far it is. */
        status: { input: unknown; output: 'waiting' | 'charged' };
      };
      updates: {
        /** Schema: answer {"minimum":0} */
        'add-line': { input: Line; output: number };
      };
    }
  >,
  /**
   * Sends a mail.
   *
   * It may be sent twice.
   */
  'send-mail': { address: 'wasm://shop/send-mail' } as FunctionReference<
    SendMailInput,
    null,
    {
      signals: {};
      promises: {};
      queries: {};
      updates: {};
    }
  >,
  /** The object `Cart` with this key. */
  Cart: (key: string) => ({
    /** Puts a line into the cart. */
    add: { address: 'wasm://shop/Cart@' + key + '/add' } as FunctionReference<
      string,
      string[],
      {
        signals: {};
        queries: {
          size: { input: unknown; output: number };
        };
        updates: {};
      }
    >,
    /** Schema: output {"patternProperties":{"^n":{"type":"number"}}} */
    new: { address: 'wasm://shop/Cart@' + key + '/new' } as FunctionReference<
      unknown,
      { [key: string]: number },
      {
        signals: {};
        queries: {};
        updates: {};
      }
    >,
  }),
};
