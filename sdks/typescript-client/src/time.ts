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

/** A signal that is aborted after `ms`, or with `signal`. `dispose` ends its timer. */
export function deadline(
  ms: number,
  signal?: AbortSignal,
): { signal: AbortSignal; isOver: () => boolean; dispose: () => void } {
  const controller = new AbortController();
  let isOver = false;
  const timer = setTimeout(
    () => {
      isOver = true;
      controller.abort();
    },
    Math.min(ms, LONGEST_TIMER_MS),
  );
  const abort = () => controller.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  const dispose = () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  };
  return { signal: controller.signal, isOver: () => isOver, dispose };
}

/** A new id or key: 128 random bits. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
