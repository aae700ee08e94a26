// Published events, each delivered at least once.

import type { CloudEvent } from './api.js';
import type { CallOptions } from './options.js';
import type { Transport } from './transport.js';

/** Options of a reader of events. */
export interface EventOptions extends CallOptions {
  /** Pattern of topics, such as `order.*`. Default: every topic. */
  topic?: string | undefined;
  /**
   * True (the default): an event is acknowledged when the loop asks for the next one, so that an event whose handling
   * throws comes again. False: nothing is acknowledged, and the reader goes on behind what it has shown.
   */
  acknowledge?: boolean | undefined;
  /** Number of events fetched at once, and at most delivered again after a crash (1 to 1000). Default: 100. */
  pageSize?: number | undefined;
  /** True to end when there is no further event. Default: false, the reader waits. */
  untilEmpty?: boolean | undefined;
  /** Longest time without an answer of a host, in milliseconds. Default: without end. */
  retryForMs?: number | undefined;
}

/** Wait of one request, in milliseconds. */
const POLL_MS = 30_000;
/** Longest delay of acknowledgements, in milliseconds. */
const ACKNOWLEDGE_MS = 1_000;

/** Reads events, the oldest first. */
export async function* read(transport: Transport, options: EventOptions): AsyncGenerator<CloudEvent, void, undefined> {
  const {
    topic,
    pageSize,
    untilEmpty = false,
    acknowledge: isAcknowledging = true,
    retryForMs = Infinity,
    signal,
  } = options;
  let handled: string[] = [];
  let acknowledgedAt = Date.now();
  const flush = async () => {
    if (handled.length > 0) await acknowledge(transport, handled, { signal }, retryForMs);
    handled = [];
    acknowledgedAt = Date.now();
  };
  let cursor: string | undefined;
  try {
    for (;;) {
      const waitMs = untilEmpty ? 0 : POLL_MS;
      const page = await transport.send('GET /v1/events', {
        query: { topic, cursor, limit: pageSize, waitMs },
        waitMs,
        retryForMs,
        signal,
      });
      for (const event of page.events) {
        yield event;
        if (!isAcknowledging) continue;
        handled.push(event.id);
        signal?.throwIfAborted();
        if (Date.now() - acknowledgedAt > ACKNOWLEDGE_MS) await flush();
      }
      await flush();
      if (untilEmpty && page.events.length === 0) return;
      // Without a cursor no event is missed that another host commits a moment late.
      if (!isAcknowledging) cursor = page.next ?? cursor;
    }
  } finally {
    // After a `break`, an abort or an error: what was handled before. What cannot be acknowledged now comes again.
    if (handled.length > 0) await acknowledge(transport, handled, {}, 0).catch(() => undefined);
  }
}

/** Acknowledges events: they are not read again. */
export async function acknowledge(
  transport: Transport,
  ids: string[],
  options: CallOptions,
  retryForMs?: number,
): Promise<number> {
  let acknowledged = 0;
  for (let from = 0; from < ids.length; from += 1_000) {
    const answer = await transport.send('POST /v1/events/ack', {
      body: { ids: ids.slice(from, from + 1_000) },
      isRepeatable: true,
      retryForMs,
      signal: options.signal,
    });
    acknowledged += answer.acknowledged;
  }
  return acknowledged;
}
