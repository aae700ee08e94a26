// Pauses that an `AbortSignal` ends.

/** Longest time that timers of JavaScript can take, in milliseconds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Resolves after `ms`. Throws the signal's reason when it is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const done = () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    };
    const timer = setTimeout(done, Math.min(ms, LONGEST_TIMER_MS));
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** A time limit. */
export interface Deadline {
  /** Aborted when the time is over. */
  signal: AbortSignal;
  /** True if the time is over. */
  isOver: () => boolean;
  /** Begins the time anew. */
  restart: () => void;
  /** Stops the time. */
  stop: () => void;
  /** Stops the time for ever. */
  dispose: () => void;
}

/** A signal that is aborted after `ms`, or with `signal`. */
export function deadline(ms: number, signal?: AbortSignal): Deadline {
  const controller = new AbortController();
  let isOver = false;
  const over = () => {
    isOver = true;
    controller.abort();
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => clearTimeout(timer);
  const restart = () => {
    stop();
    timer = setTimeout(over, Math.min(ms, LONGEST_TIMER_MS));
  };
  restart();
  const abort = () => controller.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const dispose = () => {
    stop();
    signal?.removeEventListener('abort', abort);
  };
  return { signal: controller.signal, isOver: () => isOver, restart, stop, dispose };
}

/** A new id or key: 128 random bits. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
