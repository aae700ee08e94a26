// The workflow contract turned into promises: everything that is needed to write Segno functions as ordinary
// async JavaScript. The host tells one event at a time (`start`, then `resume`); each event settles at most one promise,
// and the engine runs what waits for it before the call returns.

import * as journal from 'segno:workflow/journal@0.1.0';

// A `u64` is a BigInt to StarlingMonkey and a number to QuickJS, which has none of the interfaces of the web.
const u64 = typeof globalThis.TextEncoder === 'function' ? BigInt : Number;
const maybe = (milliseconds) => (milliseconds === undefined ? undefined : u64(milliseconds));

const encode = (value) => ({ tag: 'json', val: JSON.stringify(value ?? null) });

function decode(payload) {
  return payload.tag === 'json' ? JSON.parse(payload.val) : payload.val;
}

/// Why a function, a step or a promise failed. For activities codes 400 to 499 are final, others are tried again.
export class Failure extends Error {
  constructor(code, message, details) {
    super(message);
    this.name = 'Failure';
    this.code = code;
    this.details = details;
  }
}

const success = (value) => ({ tag: 'success', val: encode(value) });

function failure(error) {
  const details = error?.details === undefined ? undefined : encode(error.details);
  const message = error instanceof Failure ? error.message : String(error?.stack ? `${error}\n${error.stack}` : error);
  return { tag: 'failure', val: { code: error?.code ?? 500, message, details } };
}

// Commands whose completion is still to come, by index, in the order in which they were asked for.
const waiting = new Map();
const signals = [];
const listeners = [];
let context;
let draw;

function completion(command) {
  return new Promise((resolve, reject) => waiting.set(command, { resolve, reject }));
}

function told(event) {
  switch (event.tag) {
    case 'completed': {
      const { command, outcome } = event.val;
      const waiter = waiting.get(command);
      waiting.delete(command);
      if (outcome.tag === 'success') return waiter?.resolve(decode(outcome.val));
      const { code, message, details } = outcome.val;
      return waiter?.reject(new Failure(code, message, details && decode(details)));
    }
    case 'signal': {
      const listener = listeners.shift();
      const signal = { name: event.val.name, value: decode(event.val.payload) };
      return listener ? listener.resolve(signal) : void signals.push(signal);
    }
    case 'cancelled': {
      // Seen as an error at every await; what the function asks for after that is its cleaning up.
      const cancelled = [...waiting.values(), ...listeners.splice(0)];
      for (const command of waiting.keys()) journal.forget(command);
      waiting.clear();
      for (const waiter of cancelled) waiter.reject(new Failure(499, 'the invocation was cancelled'));
    }
  }
}

const retries = ({ initialMs = 100, factor = 2, maxMs = 60_000, jitter = 0.2, maxAttempts, nonRetryable = [] }) => ({
  initialMs: u64(initialMs),
  factor,
  maxMs: u64(maxMs),
  jitter,
  maxAttempts,
  nonRetryable,
});

const options = ({ timeoutMs, retry, startAtMs, labels = {} } = {}) => ({
  timeoutMs: maybe(timeoutMs),
  startAtMs: maybe(startAtMs),
  retry: retry && retries(retry),
  labels: Object.entries(labels),
});

/// What a workflow may ask for.
export const segno = {
  /// Calls a workflow or an activity: of this module, or `wasm://MODULE/FUNCTION`.
  call: (name, input, how) => completion(journal.call(name, encode(input), options(how))),
  /// Starts a function that outlives this invocation; answers its id.
  send: (name, input, how) => completion(journal.send(name, encode(input), options(how))),
  sleep: (ms) => completion(journal.sleepUntil(u64(segno.now() + ms))),
  /// A promise that somebody outside settles by `id`.
  promise(name, { timeoutMs } = {}) {
    const [command, id] = journal.promise(name, { timeoutMs: maybe(timeoutMs) });
    return { id, settled: completion(command) };
  },
  settle: (id, value) => completion(journal.settle(id, success(value))),
  http: ({ method = 'GET', url, headers = {}, body }, how) => {
    const request = { method, url, headers: Object.entries(headers), body: body === undefined ? undefined : encode(body) };
    return completion(journal.http(request, options(how)));
  },
  publish: (topic, value) => completion(journal.publish(topic, encode(value))),
  /// Does `compute` once and keeps its result. It may not wait or use anything else of this object.
  run(name, compute) {
    const answer = journal.run(name);
    const settled = completion(answer.val);
    if (answer.tag === 'execute') {
      let outcome;
      try {
        outcome = success(compute());
      } catch (error) {
        outcome = failure(error);
      }
      journal.runDone(answer.val, outcome);
    }
    return settled;
  },
  /// The next signal from outside: `{ name, value }`.
  signal: () =>
    signals.length
      ? Promise.resolve(signals.shift())
      : new Promise((resolve, reject) => listeners.push({ resolve, reject })),
  /// Logical time in milliseconds: the instant of the last event.
  now: () => Number(journal.now()),
  /// From 0 to 1, the same in every replay of this invocation and another in every other.
  random: () => draw(),
  log: (message, level = 'info') => journal.log(level, message),
  get invocation() {
    return context.invocation;
  },
};

// The generator sfc32, seeded by the host. The engine's own `Math.random` is seeded when the component is built.
function generator(seed) {
  let [a, b, c, d] = new Uint32Array(Uint8Array.from(seed.slice(0, 16)).buffer);
  return () => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + t | 0;
    return (t >>> 0) / 2 ** 32;
  };
}

// JavaScript's clock and dice answer what the journal can answer again, with or without WASI behind them.
function tame() {
  const Clock = globalThis.Date;
  globalThis.Date = class Date extends Clock {
    constructor(...given) {
      super(...(given.length ? given : [segno.now()]));
    }
    static now() {
      return segno.now();
    }
  };
  Math.random = () => draw();
}

// What is ready runs before the host gets control back. StarlingMonkey sees to that itself; for QuickJS see `promise.js`.
const drain = () => Promise.drain?.();

function described(functions, kind) {
  return Object.entries(functions).map(([name, { summary, input, output, signals = false, timeoutMs, retry }]) => ({
    name,
    kind,
    summary,
    inputSchema: input && JSON.stringify(input),
    outputSchema: output && JSON.stringify(output),
    signals,
    timeoutMs: maybe(timeoutMs),
    retry: retry && retries(retry),
  }));
}

/// The exports of a component. A function is `{ run, summary?, input?, output?, signals?, timeoutMs?, retry? }`, where
/// `input` and `output` are JSON schemas.
export function module({ workflows = {}, activities = {} }) {
  return {
    describe: () => [...described(workflows, 'workflow'), ...described(activities, 'activity')],
    start(name, input, given) {
      context = given;
      draw = generator(given.seed);
      tame();
      const finish = (outcome) => journal.finish(outcome);
      // Through a `then`, so that an error before the first await is an outcome as well.
      Promise.resolve()
        .then(() => workflows[name].run(decode(input), segno))
        .then((value) => finish(success(value)), (error) => finish(failure(error)));
      drain();
    },
    resume(event) {
      told(event);
      drain();
    },
    perform(name, input, attempt) {
      try {
        return success(activities[name].run(decode(input), attempt));
      } catch (error) {
        return failure(error);
      }
    },
  };
}
