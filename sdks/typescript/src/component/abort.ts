// `EventTarget`, `AbortController` and `AbortSignal`.

type Listener = ((event: PlainEvent) => void) | { handleEvent(event: PlainEvent): void };
type ListenerOptions = boolean | { once?: boolean; signal?: PlainAbortSignal };

/** An event. */
export class PlainEvent {
  readonly type: string;
  readonly cancelable: boolean;
  target: unknown = null;
  defaultPrevented = false;
  isStopped = false;

  constructor(type: string, { cancelable = false }: { cancelable?: boolean } = {}) {
    this.type = type;
    this.cancelable = cancelable;
  }

  get currentTarget(): unknown {
    return this.target;
  }

  preventDefault(): void {
    this.defaultPrevented = this.cancelable;
  }

  stopPropagation(): void {}

  stopImmediatePropagation(): void {
    this.isStopped = true;
  }
}

/** An event with a value. */
export class PlainCustomEvent extends PlainEvent {
  readonly detail: unknown;

  constructor(type: string, options: { cancelable?: boolean; detail?: unknown } = {}) {
    super(type, options);
    this.detail = options.detail ?? null;
  }
}

/** What events are sent to. */
export class PlainEventTarget {
  readonly #listeners = new Map<string, { listener: Listener; once: boolean }[]>();

  addEventListener(type: string, listener: Listener | null, options: ListenerOptions = {}): void {
    const { once = false, signal } = typeof options === 'boolean' ? {} : options;
    if (listener === null || signal?.aborted) return;
    const known = this.#listeners.get(type) ?? [];
    if (known.some((one) => one.listener === listener)) return;
    this.#listeners.set(type, [...known, { listener, once }]);
    signal?.addEventListener('abort', () => this.removeEventListener(type, listener));
  }

  removeEventListener(type: string, listener: Listener | null): void {
    const rest = (this.#listeners.get(type) ?? []).filter((one) => one.listener !== listener);
    this.#listeners.set(type, rest);
  }

  dispatchEvent(event: PlainEvent): boolean {
    event.target = this;
    for (const { listener, once } of this.#listeners.get(event.type) ?? []) {
      if (once) this.removeEventListener(event.type, listener);
      // An error of one listener concerns no other.
      try {
        if (typeof listener === 'function') listener.call(this as never, event);
        else listener.handleEvent(event);
      } catch (error) {
        void Promise.reject(error);
      }
      if (event.isStopped) break;
    }
    return !event.defaultPrevented;
  }
}

/** Tells that something is to stop. */
export class PlainAbortSignal extends PlainEventTarget {
  aborted = false;
  reason: unknown = undefined;
  onabort: ((event: PlainEvent) => void) | null = null;

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  static abort(reason?: unknown): PlainAbortSignal {
    const controller = new PlainAbortController();
    controller.abort(reason);
    return controller.signal;
  }

  /** Replaced by one that counts logical time. */
  static timeout(_ms: number): PlainAbortSignal {
    throw new Error('`AbortSignal.timeout` counts time only inside of a function');
  }

  static any(signals: Iterable<PlainAbortSignal>): PlainAbortSignal {
    const controller = new PlainAbortController();
    for (const signal of signals) {
      if (signal.aborted) controller.abort(signal.reason);
      else signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
    }
    return controller.signal;
  }
}

/** Aborts a signal. */
export class PlainAbortController {
  readonly signal = new PlainAbortSignal();

  abort(reason: unknown = new DOMException('it was aborted', 'AbortError')): void {
    const { signal } = this;
    if (signal.aborted) return;
    signal.aborted = true;
    signal.reason = reason;
    const event = new PlainEvent('abort');
    signal.onabort?.(event);
    signal.dispatchEvent(event);
  }
}
