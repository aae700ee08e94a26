// The workflow contract turned into promises: everything that is needed to write Segno functions as ordinary
// async JavaScript. The host tells one event at a time (`start`, then `resume`); each event settles at most one promise,
// and the engine runs what waits for it before the call returns.

import * as activity from 'segno:workflow/activity@0.2.0';
import * as configuration from 'segno:workflow/configuration@0.2.0';
import * as directories from 'segno:workflow/files@0.2.0';
import * as generations from 'segno:workflow/generations@0.2.0';
import * as journal from 'segno:workflow/journal@0.2.0';
import * as objectPromises from 'segno:workflow/object-promises@0.2.0';
import * as sagas from 'segno:workflow/sagas@0.2.0';
import * as toldSignals from 'segno:workflow/signals@0.2.0';
import * as stored from 'segno:workflow/state@0.2.0';

// QuickJS leaves its promises where they are when a call ends; `promise.js` has a queue that can be emptied.
const drives = typeof Promise.drain === 'function';
const drain = () => drives && Promise.drain();

// A `u64` is a BigInt to StarlingMonkey and a number to QuickJS, which has none of the interfaces of the web.
const u64 = typeof globalThis.TextEncoder === 'function' ? BigInt : Number;
// No instant and no length is beyond the end of the year 9999.
const LONGEST_MS = 253_402_300_799_999;

// The value of an option, if it is such a number; the error names the option.
function numberOf(option, value, least, most, kind = 'whole number') {
  const fits = typeof value === 'number' && value >= least && value <= most && (kind !== 'whole number' || Number.isInteger(value));
  if (fits) return value;
  const given = typeof value === 'string' ? JSON.stringify(value) : String(value);
  throw new RangeError(`\`${option}\` is ${given}, and has to be a ${kind} from ${least} to ${most}`);
}

const millis = (option, value) => u64(numberOf(option, value, 0, LONGEST_MS));
const maybe = (option, value) => (value === undefined ? undefined : millis(option, value));
const count = (option, value) => (value === undefined ? undefined : numberOf(option, value, 1, 0xffff_ffff));

// As `JSON.stringify` does it: fields that are undefined are left out, and in lists they are null. What it would change in
// silence is refused: numbers that JSON does not have, maps and sets, and halves of characters.
function encode(value, what) {
  const text = JSON.stringify(value ?? null, function (key, part) {
    const refused = typeof part === 'object' ? unlisted(part) : unwritable(part);
    if (refused === undefined) return part;
    const place = key === '' ? what : `\`${key}\` in ${what}`;
    throw new TypeError(`${place} is ${refused}`);
  });
  if (text.includes('\\ud') && /(^|[^\\])(\\\\)*\\ud[89a-f]/.test(text)) {
    throw new TypeError(`${what} has half of a character (a lone surrogate): cut texts by \`[...text]\`, or write \`text.toWellFormed()\``);
  }
  return { tag: 'json', val: text };
}

function unwritable(part) {
  if (typeof part === 'number' && !Number.isFinite(part)) return `${part}, which JSON does not have`;
  if (typeof part === 'bigint') return `the BigInt ${part}, which JSON does not have: pass a number or a text`;
  return undefined;
}

function unlisted(part) {
  if (part instanceof Map) return 'a Map, which JSON does not have: pass `Object.fromEntries(map)`';
  if (part instanceof Set) return 'a Set, which JSON does not have: pass `[...set]`';
  return undefined;
}

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

const success = (value, what) => ({ tag: 'success', val: encode(value, what) });

function failure(error) {
  if (!(error instanceof Failure)) {
    const { at, message } = defect(error);
    return { tag: 'failure', val: { code: 500, message: at ? `${at}: ${message}` : message } };
  }
  const details = error.details === undefined ? undefined : encode(error.details, 'the details of the failure');
  return { tag: 'failure', val: { code: error.code, message: error.message, details } };
}

// `    at price (/bundle.js:12:3)` is `    at price (src/prices.js:30)` to its author. `segno build` puts a table at the end
// of the bundle: the names of the sources, and for each line of the bundle, by column, source and line. Lines of this file
// are not in it.
function inSource(frame) {
  const place = /^(.*?)[(]?[^ (]*:([0-9]+):([0-9]+)[)]?$/.exec(frame);
  if (!place || !globalThis.segnoLines) return frame;
  const [, at, line, column] = place;
  const { sources, lines } = globalThis.segnoLines;
  const before = (lines[line - 1] ?? []).filter((from) => from[0] < column);
  const [, source, sourceLine] = before[before.length - 1] ?? [];
  return source === undefined ? undefined : `${at}(${sources[source]}:${sourceLine})`;
}

// What was thrown that is no `Failure`: where, and what its author wants to see of it.
function defect(error) {
  const stack = String(error?.stack ?? '').split('\n').filter((frame) => !frame.includes('(native)'));
  const frames = stack.map(inSource).filter(Boolean);
  const at = /[(](.*)[)]$/.exec(frames[0] ?? '')?.[1];
  return { at, message: [String(error), ...frames].join('\n') };
}

// Commands whose completion is still to come, by index, in the order in which they were asked for.
const waiting = new Map();
// Those that a cancellation does not touch: what sagas need to know.
const shielded = new Map();
// Signals that nobody has read, with their numbers; and those that wait for one. A wait that is over without one, because it
// lost a race, is no longer among the listeners, so that it takes nothing.
const signals = [];
const listeners = [];
let heard = 0;
let polls = 0;
// Those that wait for a condition, and the updates that were accepted and not answered.
const conditions = [];
let unanswered = 0;
// The workflow that was started, what it shares with its queries and updates, and whether it has ended.
let current;
let shared;
let finished = false;
let context;
let draw;
let broken;
// Where `console` writes: nowhere while the component is built.
let say = () => {};

function completion(command) {
  return new Promise((resolve, reject) => waiting.set(command, { resolve, reject }));
}

// The commands that can be cancelled, by the promises of their completions.
const cancellable = new WeakMap();

function started(command) {
  const ended = completion(command);
  cancellable.set(ended, command);
  return ended;
}

function shieldedCompletion(command) {
  return new Promise((resolve, reject) => shielded.set(command, { resolve, reject }));
}

function told(event) {
  switch (event.tag) {
    case 'completed': {
      const { command, outcome } = event.val;
      for (const waiters of [shielded, waiting]) {
        const waiter = waiters.get(command);
        waiters.delete(command);
        if (outcome.tag === 'success') waiter?.resolve(decode(outcome.val));
        else waiter?.reject(new Failure(outcome.val.code, outcome.val.message, outcome.val.details && decode(outcome.val.details)));
      }
      return undefined;
    }
    case 'signal': {
      const number = heard++;
      if (event.val.name.startsWith(UPDATE)) return accept(event.val.name.slice(UPDATE.length), event.val.payload);
      signals.push({ number, signal: { name: event.val.name, value: decode(event.val.payload) } });
      return hear();
    }
    case 'cancelled': {
      // Seen as an error at every await; what the function asks for after that is its cleaning up.
      const cancelled = [...waiting.values(), ...listeners.splice(0), ...conditions.splice(0)];
      for (const command of waiting.keys()) if (!shielded.has(command)) journal.forget(command);
      waiting.clear();
      for (const waiter of cancelled) {
        waiter.over = true;
        waiter.reject(new Failure(499, 'the invocation was cancelled'));
      }
    }
  }
}

// Gives the first unread signal to whoever waits. Of those that wait, one that began after the last event comes before those that
// have waited longer: theirs may be a race that was lost in a way that nobody can see.
function hear() {
  while (signals.length && listeners.length) {
    const { since } = listeners[listeners.length - 1];
    const [listener] = listeners.splice(listeners.findIndex((one) => one.since === since), 1);
    listener.taken = signals.shift();
    listener.resolve(listener.taken.signal);
  }
}

// One wait for a signal.
function source() {
  const one = { uses: 0 };
  one.promise = new Promise((resolve, reject) => Object.assign(one, { resolve, reject }));
  return one;
}

// A promise that waits for signals, directly or through others. Whoever uses it waits; where a race goes on without it, nobody
// does, until it is used again.
class Wait {
  constructor(promise, sources) {
    Object.assign(this, { promise, sources });
  }

  then(fulfilled, rejected) {
    this.begin();
    for (const one of this.sources) one.uses += Number(one.promise === this.promise);
    return new Wait(this.promise.then(fulfilled, rejected), this.sources);
  }

  catch(rejected) {
    return this.then(undefined, rejected);
  }

  finally(last) {
    const whole = () => this.promise.finally(last);
    return this.then().then(whole, whole);
  }

  begin() {
    for (const one of this.sources) {
      if (one.taken || one.over || listeners.includes(one)) continue;
      one.since = polls;
      listeners.push(one);
    }
    hear();
  }

  // Nobody goes on with it: what it took in the same moment as another one won, and what nobody saw, is unread again.
  end() {
    for (const one of this.sources) {
      if (listeners.includes(one)) listeners.splice(listeners.indexOf(one), 1);
      if (!one.taken || one.uses > 1 || this.promise !== one.promise) continue;
      const place = signals.findIndex(({ number }) => number > one.taken.number);
      signals.splice(place < 0 ? signals.length : place, 0, one.taken);
      this.sources = [source()];
      this.promise = this.sources[0].promise;
      hear();
    }
  }
}

function wait() {
  const one = source();
  const waiting = new Wait(one.promise, [one]);
  waiting.begin();
  return waiting;
}

// What waits for signals among the values of `all` and the like waits for them as a whole; the losers of `race` and `any` end.
for (const name of ['all', 'allSettled', 'any', 'race']) {
  const plain = Promise[name].bind(Promise);
  Promise[name] = (values) => {
    if (typeof values?.[Symbol.iterator] !== 'function') return plain(values);
    const given = [...values];
    const waits = given.filter((value) => value instanceof Wait);
    if (!waits.length) return plain(given);
    let winner;
    const seen = (value) => {
      const first = () => (winner ??= { value });
      return Promise.resolve(value).then((one) => (first(), one), (error) => {
        if (name === 'race') first();
        throw error;
      });
    };
    const whole = plain(name === 'race' || name === 'any' ? given.map(seen) : given);
    const sources = waits.flatMap((one) => one.sources);
    const over = () => {
      sources.length = 0;
      if (winner) waits.filter((one) => one !== winner.value).forEach((one) => one.end());
    };
    whole.then(over, over);
    return new Wait(whole, sources);
  };
}

const retries = ({ initialMs = 100, factor = 2, maxMs = 60_000, jitter = 0.2, maxAttempts, nonRetryable = [] }) => ({
  initialMs: millis('retry.initialMs', initialMs),
  factor: numberOf('retry.factor', factor, 0, Number.MAX_VALUE, 'number'),
  maxMs: millis('retry.maxMs', maxMs),
  jitter: numberOf('retry.jitter', jitter, 0, 1, 'number'),
  maxAttempts: count('retry.maxAttempts', maxAttempts),
  nonRetryable: [...nonRetryable].map((code) => numberOf('retry.nonRetryable', code, 0, 0xffff_ffff)),
});

function labelled([name, value]) {
  if (typeof value === 'string') return [name, value];
  throw new TypeError(`the label \`${name}\` is ${String(value)}, and has to be a text`);
}

const options = ({ timeoutMs, attemptTimeoutMs, retry, startAtMs, labels = {} } = {}) => ({
  timeoutMs: maybe('timeoutMs', timeoutMs),
  startAtMs: maybe('startAtMs', startAtMs),
  retry: retry && retries(retry),
  // The contract has no field for the limit of an attempt, but a label.
  labels: [
    ...Object.entries(labels).map(labelled),
    ...(attemptTimeoutMs == null ? [] : [['segno:attempt-timeout-ms', `${millis('attemptTimeoutMs', attemptTimeoutMs)}`]]),
  ],
});

const inputOf = (name) => `the input of \`${name}\``;
const bodyOf = (body, url) => (body === undefined ? undefined : encode(body, `the body of the request to ${url}`));

/// What a workflow may ask for: the second argument of its function.
export const segno = {
  /// Calls a workflow or an activity: of this module, or `wasm://MODULE/FUNCTION`.
  call: (name, input, how) => started(journal.call(name, encode(input, inputOf(name)), options(how))),
  /// Starts a function that outlives this invocation; answers its id.
  send: (name, input, how) => completion(journal.send(name, encode(input, inputOf(name)), options(how))),
  sleep(ms) {
    const length = numberOf('sleep', ms, 0, LONGEST_MS);
    return started(journal.sleepUntil(millis('sleep', segno.now() + length)));
  },
  /// A promise that somebody outside settles by `id`.
  promise(name, { timeoutMs } = {}) {
    const [command, id] = journal.promise(name, { timeoutMs: maybe('timeoutMs', timeoutMs) });
    return { id, settled: started(command) };
  },
  settle: (id, value) => completion(journal.settle(id, success(value, `the value of promise \`${id}\``))),
  http: ({ method = 'GET', url, headers = {}, body }, how) => {
    const request = { method, url, headers: Object.entries(headers), body: bodyOf(body, url) };
    return started(journal.http(request, options(how)));
  },
  /// Cancels what `call`, `http`, `sleep` or `promise` answered. A sleep, a promise or a request ends at once, and what it answered throws a
  /// `Failure` 499. A called workflow or activity is asked to stop, and its promise gives what it answers.
  cancel(asked) {
    const ended = asked?.settled ?? asked;
    const command = cancellable.get(ended);
    if (command === undefined) throw new TypeError('`cancel` takes what `call`, `http`, `sleep` or `promise` answered, and no promise made from it');
    // Nobody has to wait for it any more.
    ended.then(undefined, () => {});
    return completion(journal.cancel(command));
  },
  /// Begins a saga: steps that are undone, the last one first, when a `Failure` leaves the workflow. The name tells it from the
  /// others of this workflow.
  saga: (name) => new Saga(name),
  /// Shares an object with the queries and updates of this workflow, which see it from now on, also after the end. A workflow shares
  /// one.
  share(value) {
    if (shared) throw new Error('this workflow shares a value already: add to its fields what another would have');
    shared = { value };
    return value;
  },
  /// Waits until the condition holds: an update, or another part of the workflow, has made it true.
  until: (holds) => new Promise((resolve, reject) => (holds() ? resolve() : conditions.push({ holds, resolve, reject }))),
  /// Waits until every update that was accepted has been answered. Those that are not when the workflow ends are cancelled.
  updatesDone: () => segno.until(() => unanswered === 0),
  publish: (topic, value) => completion(journal.publish(topic, encode(value, `the event on topic \`${topic}\``))),
  /// Does `compute` once and keeps its result. It may not wait or use anything else of this object.
  run(name, compute) {
    const answer = journal.run(name);
    const settled = completion(answer.val);
    if (answer.tag === 'execute') {
      let outcome;
      // A replay does not compute again, so what is drawn here must not move what is drawn after it.
      const outside = draw;
      draw = generator(seedOf(`${context.seed} ${answer.val}`));
      try {
        outcome = success(compute(), `the result of the step \`${name}\``);
      } catch (error) {
        outcome = failure(error);
      }
      draw = outside;
      journal.runDone(answer.val, outcome);
    }
    return settled;
  },
  /// The next signal from outside: `{ name, value }`. One that loses a `Promise.race` takes none.
  signal: () => wait(),
  /// Sends another invocation a signal.
  sendSignal: (id, name, value) => completion(toldSignals.send(id, name, encode(value, `the value of signal \`${name}\``))),
  /// Ends this generation, and has the next one begin with this input: `return segno.continueAsNew(input)`. It has the id, the labels,
  /// the deadline and the signals that were not read. It runs the newest code, or with `sameCode` that of this one.
  continueAsNew: (input, { sameCode = false } = {}) => new NextGeneration(encode(input, 'the input of the next generation'), sameCode),
  /// Logical time in milliseconds: the instant of the last event.
  now: () => Number(journal.now()),
  /// From 0 to 1, the same in every replay of this invocation and another in every other.
  random: () => draw(),
  log: (message, level = 'info') => journal.log(level, message),
  get invocation() {
    return context.invocation;
  },
  /// In a function of an object: whose state this is.
  get key() {
    return stored.key();
  },
  /// In a function of an object: what is kept under its key, by name. What is written is stored with the next step; shared
  /// functions only read.
  state: {
    /// The value, or null where there is none.
    get: (name) => completion(stored.get(name)),
    names: () => completion(stored.names()),
    set: (name, value) => void stored.set(name, encode(value, `the value of state \`${name}\``)),
    clear: (name) => void stored.clear(name),
    clearAll: () => void stored.clearAll(),
  },
  /// In a function of an object: a promise of the object, which any function of it, or a client, settles once. It may be settled
  /// before anybody waits for it, and stays when those that waited have ended.
  promiseOf: (name) => ({
    /// Its value, when it is settled; it throws the `Failure` with which it was rejected.
    wait: () => completion(objectPromises.wait(name)),
    /// Its value, if it is settled now, else undefined; it throws the `Failure` with which it was rejected.
    peek: () => completion(objectPromises.peek(name)).then(standing),
    /// Throws a `Failure` 409 if it was settled before.
    resolve: (value) => completion(objectPromises.settle(name, success(value, `the value of promise \`${name}\``))).then(() => {}),
    reject: (error) => completion(objectPromises.settle(name, failure(error))).then(() => {}),
  }),
};

// How a promise of an object stands, as the host says it.
function standing(told) {
  if (told === null) return undefined;
  if (told.rejected) throw new Failure(told.rejected.code, told.rejected.message, told.rejected.details ?? undefined);
  if ('resolved_base64' in told) return bytesOfBase64(told.resolved_base64);
  return told.resolved;
}

function bytesOfBase64(text) {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const bytes = [];
  let [bits, held] = [0, 0];
  for (const letter of text.replace(/=+$/, '')) {
    [bits, held] = [((bits << 6) | letters.indexOf(letter)) & 0xffff, held + 6];
    if (held >= 8) bytes.push((bits >> (held -= 8)) & 0xff);
  }
  return Uint8Array.from(bytes);
}

class NextGeneration {
  constructor(input, sameCode) {
    Object.assign(this, { input, sameCode });
  }
}

const begun = [];

/// Steps that are undone when the whole does not come about. `compensate` names the function that undoes a step; it is given
/// `{ input, output }`. With `compensateUnknown` a step is undone also if nobody knows whether it acted (`output` is null then);
/// without it, a person is asked.
class Saga {
  constructor(name) {
    if (begun.some((saga) => saga.name === name)) throw new Error(`there is a saga \`${name}\`: give each its own name`);
    Object.assign(this, { name, steps: [], over: false });
    begun.push(this);
  }

  call(name, input, { compensate, compensateUnknown, ...how }) {
    const ask = (step) => sagas.call(name, encode(input, inputOf(name)), options(how), step);
    return this.step(name, input ?? null, { compensate, compensateUnknown }, ask);
  }

  http({ method = 'GET', url, headers = {}, body }, { compensate, compensateUnknown, ...how }) {
    const pairs = Object.entries(headers);
    const request = { method, url, headers: pairs, body: bodyOf(body, url) };
    const ask = (step) => sagas.http(request, options(how), step);
    const input = { method, url, headers: pairs, body: body ?? null };
    // With 4xx the server says that it did not act.
    const declines = ({ status }) => status >= 400 && status < 500;
    return this.step(`${method} ${url}`, input, { compensate, compensateUnknown, declines }, ask);
  }

  /// Undoes the steps now, and throws a `Failure` (422) that says what was undone.
  async abort(reason) {
    throw await this.unwind(new Failure(422, reason));
  }

  /// Ends the saga: its steps stay, whatever happens later.
  complete() {
    this.over = true;
  }

  step(name, input, { compensate, compensateUnknown = false, declines = () => false }, ask) {
    if (this.over) throw new Error(`the saga \`${this.name}\` is over, and \`${name}\` is a step of it: begin another`);
    const declared = { saga: this.name, seq: this.steps.length, compensate, compensateUnknown };
    const step = { name, input, output: null, declared, registered: false, unknown: false };
    this.steps.push(step);
    const command = ask(declared);
    step.ended = shieldedCompletion(command).then(
      (output) => Object.assign(step, { output, registered: compensateUnknown || !declines(output) }),
      ({ code }) => {
        step.unknown = code === 408 || code === 499;
        step.registered = step.unknown && compensateUnknown;
      },
    );
    return completion(command);
  }

  async unwind(failure) {
    this.over = true;
    for (const step of this.steps) await step.ended;
    const undone = [];
    let rest = '';
    for (const step of [...this.steps].reverse()) {
      const { declared, name } = step;
      if (step.unknown && !step.registered) {
        const id = `${context.invocation}/u/${this.name}/${declared.seq}`;
        say(`step ${declared.seq} of the saga \`${this.name}\` (\`${name}\`) is unclear: check whether it acted, then settle \`${id}\``, 'warn');
        const answer = await shieldedCompletion(sagas.ask(declared)).then(() => 'acted', ({ code }) => code);
        step.registered = answer === 'acted';
        if (answer === 499) rest = `, unclear whether \`${name}\` acted`;
        if (rest) break;
      }
      if (!step.registered) continue;
      const input = encode({ input: step.input, output: step.output }, inputOf(declared.compensate));
      const error = await shieldedCompletion(sagas.undo(declared, input, options())).then(() => undefined, (error) => error);
      if (error) rest = `, \`${name}\` could not be undone: ${error.message}`;
      if (rest) break;
      undone.push(`\`${name}\``);
    }
    const message = `${failure.message}; saga \`${this.name}\`: ${undone.join(', ') || 'nothing'} undone${rest}`;
    return new Failure(failure.code, message, failure.details);
  }
}

// What an activity may ask for beside what it knows about this attempt: the second argument of its function.
const attempting = (attempt) => ({
  ...attempt,
  startedAtMs: Number(attempt.startedAtMs),
  lastProgress: attempt.lastProgress && decode(attempt.lastProgress),
  /// One request, if the host's policy allows its address: `{ status, headers, bytes, body, json() }`, where `body` is the
  /// text of `bytes`. Nothing is repeated here.
  async http({ method = 'GET', url, headers = {}, body }) {
    const sent = body === undefined ? undefined : body instanceof Uint8Array ? { tag: 'bytes', val: body } : bodyOf(body, url);
    const answer = refusable(() => activity.http({ method, url, headers: Object.entries(headers), body: sent }));
    return {
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      bytes: answer.body,
      get body() {
        return utf8(answer.body);
      },
      json: () => JSON.parse(utf8(answer.body)),
    };
  },
  /// Says that this attempt is alive and how far it got. True: it is asked to end.
  heartbeat: (progress) => activity.heartbeat(progress === undefined ? undefined : encode(progress, 'the progress')),
  log: (message, level = 'info') => activity.log(level, message),
  /// What the operator sets for this module in policy.toml; a `Failure` 403 says what is not set.
  env: (name) => refusable(() => configuration.env(name)),
  secret: (name) => refusable(() => configuration.secret(name)),
  files,
});

/// The directories that policy.toml gives this module (`dirs`), by absolute path.
const files = {
  /// The bytes: all of them, or at most `length` from `offset`.
  read(path, { offset = 0, length = 2 ** 32 } = {}) {
    const parts = [];
    for (let [at, left] = [offset, length]; left > 0; ) {
      const part = refusable(() => directories.read(path, u64(at), u64(left)));
      if (part.length === 0) break;
      parts.push(part);
      at += part.length;
      left -= part.length;
    }
    const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
    return bytes;
  },
  readText: (path) => utf8(files.read(path)),
  /// Replaces the file as a whole, or makes it. `content` is text or a `Uint8Array`.
  write: (path, content) => refusable(() => directories.write(path, bytesOf(content))),
  /// Adds to the end of the file, or makes it. An attempt that is repeated adds again.
  append: (path, content) => refusable(() => directories.append(path, bytesOf(content))),
  /// What the directory contains, by name: `[{ name, directory, size }]`.
  list: (path) => refusable(() => directories.listDirectory(path)).map((entry) => ({ ...entry, size: Number(entry.size) })),
  /// Removes a file. It is no failure if there is none.
  remove: (path) => refusable(() => directories.remove(path)),
};

// What the host refuses is thrown as a `Failure`: that of the contract is the payload of what the engine throws.
function refusable(call) {
  try {
    return call();
  } catch (thrown) {
    const { code = 500, message = String(thrown) } = thrown?.payload ?? thrown;
    throw new Failure(code, message);
  }
}

function utf8(bytes) {
  if (typeof globalThis.TextDecoder === 'function') return new TextDecoder().decode(bytes);
  const escaped = Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, '0')}`);
  return decodeURIComponent(escaped.join(''));
}

function bytesOf(content) {
  if (content instanceof Uint8Array) return content;
  const escaped = encodeURIComponent(content).match(/%..|[^]/g) ?? [];
  return Uint8Array.from(escaped, (part) => (part.length > 1 ? parseInt(part.slice(1), 16) : part.charCodeAt(0)));
}

// What programs expect of a page or of Node, as far as it can be had; for the rest, what to use in its place.
const shown = (value) => (typeof value === 'string' ? value : value instanceof Error ? String(value) : JSON.stringify(value));
const level = (name) => (...values) => say(values.map(shown).join(' '), name);
globalThis.console ??= {
  debug: level('debug'),
  log: level('info'),
  info: level('info'),
  warn: level('warn'),
  error: level('error'),
};
for (const [name, instead] of [
  ['fetch', '`ctx.http`'],
  ['setTimeout', '`ctx.sleep` in a workflow; an activity cannot wait'],
  ['setInterval', '`ctx.sleep` in a workflow; an activity cannot wait'],
]) {
  globalThis[name] ??= () => {
    throw new Error(`there is no \`${name}\` here: use ${instead}`);
  };
}

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

function seedOf(text) {
  const seed = new Uint8Array(16);
  for (let hash = 0x811c9dc5, at = 0; at < text.length + seed.length; at += 1) {
    hash = Math.imul(hash ^ (at < text.length ? text.charCodeAt(at) : at), 0x01000193);
    seed[at % seed.length] ^= hash >>> 24;
  }
  return seed;
}

// JavaScript's clock answers `now`, which the journal can answer again, with or without WASI behind it.
function tame(now) {
  const Clock = globalThis.Date;
  globalThis.Date = class Date extends Clock {
    constructor(...given) {
      super(...(given.length ? given : [now()]));
    }
    static now() {
      return now();
    }
  };
}

// A defect ends the call as a panic does: the host tries again, then halts the execution, and `segno continue --module`
// goes on with mended code. A `Failure` is an outcome, which ends the invocation.
async function ended(error) {
  if (!(error instanceof Failure) && drives) {
    broken = { error };
    return;
  }
  let outcome = error instanceof Failure ? error : new Failure(500, defect(error).message);
  for (const saga of begun.filter(({ over }) => !over).reverse()) outcome = await saga.unwind(outcome);
  finish(failure(outcome));
}

// Wakes those whose condition holds; false if there are none.
function look() {
  const held = conditions.filter(({ holds, reject }) => {
    try {
      return holds();
    } catch (error) {
      reject(error);
      return true;
    }
  });
  for (const condition of held) {
    conditions.splice(conditions.indexOf(condition), 1);
    condition.resolve();
  }
  return held.length > 0;
}

// Updates come as signals with names that begin so.
const UPDATE = 'segno:update/';

// The handler of the workflow that was started; throws a `Failure`.
function handler(kind, name) {
  const known = (kind === 'query' ? current?.queries : current?.updates) ?? {};
  if (!Object.hasOwn(known, name)) {
    const names = Object.keys(known).map((one) => `\`${one}\``).join(', ') || 'none';
    throw new Failure(404, `there is no ${kind} \`${name}\`; there are: ${names}`);
  }
  if (!shared) throw new Failure(425, 'the workflow has not shared anything yet: it calls `segno.share`');
  return known[name];
}

// Begins an update; its end settles the promise that came with it.
function accept(name, payload) {
  let told;
  try {
    told = decode(payload);
  } catch {}
  if (typeof told?.promise !== 'string') return say(`update \`${name}\` names no promise; the sender gets no answer`, 'error');
  const settle = (outcome) => finished || journal.forget(journal.settle(told.promise, outcome));
  let found;
  try {
    found = handler('update', name);
  } catch (error) {
    return void settle(failure(error));
  }
  unanswered += 1;
  Promise.resolve()
    .then(() => found.run(told.input ?? null, segno, shared.value))
    .then((value) => settle(success(value, `the answer of \`${name}\``)))
    .then(undefined, (error) => {
      if (!(error instanceof Failure) && drives) broken = { error };
      else settle(failure(error));
    })
    .then(() => {
      unanswered -= 1;
      if (!drives) look();
    });
  return undefined;
}

function finish(outcome) {
  finished = true;
  if (signals.length) toldSignals.unread(signals.map(({ number }) => number));
  if (outcome instanceof NextGeneration) generations.continueAsNew(outcome.input, outcome.sameCode);
  else journal.finish(outcome);
}

function returned() {
  do drain();
  while (look() && drives);
  if (broken === undefined) return;
  const { at, message } = defect(broken.error);
  journal.log('error', `panicked at ${at ?? 'an unknown place'}:\n${message}`);
  throw broken.error;
}

function described(functions, kind) {
  return Object.entries(functions).map(([name, { summary, input, output, signals = false, updates, timeoutMs, retry }]) => ({
    name,
    kind,
    summary,
    inputSchema: input && JSON.stringify(input),
    outputSchema: output && JSON.stringify(output),
    // Updates come as signals.
    signals: Boolean(signals) || Object.keys(updates ?? {}).length > 0,
    timeoutMs: maybe('timeoutMs', timeoutMs),
    retry: retry && retries(retry),
  }));
}

// What may be sent to the workflows: with it, a value of another type is refused to its sender.
function describedMessages(workflows) {
  const of = (name, kind, schemas) =>
    Object.entries(typeof schemas === 'object' ? schemas : {}).map(([message, schema]) => ({
      function: name,
      kind,
      name: message,
      schema: JSON.stringify(schema),
    }));
  return Object.entries(workflows).flatMap(([name, { promises, signals }]) => [
    ...of(name, 'promise', promises),
    ...of(name, 'signal', signals),
  ]);
}

// What workflows answer while they run, and after.
function describedHandlers(workflows) {
  const of = (workflow, kind, known = {}) =>
    Object.entries(known).map(([name, { run, summary, input, output }]) => {
      if (typeof run !== 'function') throw new Error(`the ${kind} \`${name}\` of \`${workflow}\` has no \`run\`, which is the function itself`);
      return {
        function: workflow,
        kind,
        name,
        summary,
        inputSchema: input && JSON.stringify(input),
        outputSchema: output && JSON.stringify(output),
      };
    });
  return Object.entries(workflows).flatMap(([name, { queries, updates }]) => [
    ...of(name, 'query', queries),
    ...of(name, 'update', updates),
  ]);
}

// A rate as `COUNT/UNIT` or `COUNT/LENGTH`: `10/s`, `5/10s`.
function rate(text, burst) {
  const [, number, length = '1', unit] = /^([0-9]+)[/]([0-9]+)?(ms|s|m|h|d)$/.exec(text) ?? [];
  if (number === undefined) throw new Error(`\`${text}\` is no rate: write it as \`10/s\` or \`5/10s\`, with s, m, h or d`);
  const periodMs = Number(length) * { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit];
  return { count: Number(number), periodMs: u64(periodMs), burst: count('limit.burst', burst) ?? Number(number) };
}

function bounds(concurrency, perTime, burst) {
  return { concurrency: count('limit.concurrency', concurrency), rate: perTime === undefined ? undefined : rate(perTime, burst) };
}

// How many executions of the functions may run, and how fast they begin. What makes no sense is refused at the upload.
function describedLimits(functions) {
  const limited = Object.entries(functions).filter(([, { limit }]) => limit !== undefined);
  return limited.map(([name, { limit }]) => ({
    function: name,
    key: limit.key,
    perKey: bounds(limit.concurrency, limit.rate, limit.burst),
    total: bounds(limit.totalConcurrency, limit.totalRate, limit.totalBurst),
    priority: limit.priority === undefined ? undefined : { path: limit.priority, order: limit.priorityOrder ?? 'strict' },
    singleton: limit.singleton,
    debounce:
      limit.debounceMs === undefined
        ? undefined
        : {
            periodMs: millis('limit.debounceMs', limit.debounceMs),
            longestMs: maybe('limit.debounceLongestMs', limit.debounceLongestMs),
          },
  }));
}

// The input of a query or an update, which the host has looked at if there is a schema.
function given(input) {
  try {
    return decode(input);
  } catch (error) {
    throw new Failure(400, `the input is no JSON: ${error.message}`);
  }
}

// Functions of objects are workflows, `OBJECT/FUNCTION`.
function withObjects(workflows, objects) {
  const named = Object.entries(objects).flatMap(([object, functions]) =>
    Object.entries(functions).map(([name, about]) => [`${object}/${name}`, about]),
  );
  return { ...workflows, ...Object.fromEntries(named) };
}

function describedCommits(workflows) {
  return Object.entries(workflows).flatMap(([name, { commit = 'gathered' }]) => {
    if (commit !== 'each' && commit !== 'gathered') throw new Error(`\`commit\` of \`${name}\` is \`${commit}\`: write 'each' or 'gathered'`);
    return commit === 'each' ? [name] : [];
  });
}

function describedExposures(functions) {
  return Object.entries(functions).flatMap(([name, { expose }]) => {
    if (expose === undefined) return [];
    if (expose !== 'mcp') throw new Error(`\`expose\` of \`${name}\` is \`${expose}\`: write 'mcp'`);
    return [{ function: name, protocol: expose }];
  });
}

/// The exports of a component: `functions`, `messages`, `objects`, `runs`, `handlers`, `limits`, `commits` and `exposures`. A function is
/// `{ run, summary?, input?, output?, promises?, signals?, timeoutMs?, retry?, limit?, commit?, expose? }`, where `input` and `output` are JSON schemas,
/// `promises` and `signals` are objects of them by name, and `signals: true` takes any.
///
/// `objects` has, by kind of object, workflows that share the state of one key: `{ Cart: { add: { run }, total: { run, shared: true } } }`
/// is called as `Cart@KEY/add`. Of one key one execution at a time runs, in the order of the calls; a shared one only reads,
/// and waits for nobody. One with `once: true` runs once a key, and all others of its object are shared: for it, export `runs`, too.
///
/// A workflow that shares an object (`segno.share`) may have `queries: { NAME: { run: (shared, input) => … } }`, which are answered at
/// once and change nothing, and `updates: { NAME: { run: async (input, segno, shared) => …, validate: (shared, input) => … } }`, which are
/// parts of the workflow and run beside it. What `validate` throws refuses the update before it is accepted. Both have `summary`,
/// `input` and `output` as well. For them, export `handlers`, too.
///
/// `limit` says how many executions of a workflow or an activity may run, and how fast they begin: `{ key: 'customer.id',
/// concurrency: 5, rate: '10/s', burst: 20, totalConcurrency: 100, totalRate: '100/s', totalBurst: 200, priority: 'urgency',
/// priorityOrder: 'weighted', singleton: 'skip' or 'replace', debounceMs, debounceLongestMs }`, each optional. `key` and
/// `priority` are places in the input. For it, export `limits`, and all that is described before it.
///
/// `commit: 'each'` of a workflow: the host commits the result of each `run`, and the outcome of each call, before the workflow
/// goes on. For it, export `commits`, and all that is described before it.
///
/// `expose: 'mcp'` offers the function as a tool of assistants (`segno mcp --expose MODULE`). For it, export `exposures`, and all that is
/// described before it.
export function module({ workflows: plain = {}, activities = {}, objects = {} }) {
  const workflows = withObjects(plain, objects);
  for (const [name, { run }] of [...Object.entries(workflows), ...Object.entries(activities)]) {
    if (typeof run !== 'function') throw new Error(`\`${name}\` has no \`run\`, which is the function itself`);
  }
  const functions = {
    describe: () => [...described(workflows, 'workflow'), ...described(activities, 'activity')],
    start(name, input, facts) {
      context = facts;
      current = workflows[name];
      draw = generator(facts.seed);
      say = segno.log;
      Math.random = () => draw();
      tame(segno.now);
      // Through a `then`, so that an error before the first await is an outcome as well.
      Promise.resolve()
        .then(() => workflows[name].run(decode(input), segno))
        .then((value) => finish(value instanceof NextGeneration ? value : success(value, `the result of \`${name}\``)))
        .then(undefined, ended);
      returned();
    },
    resume(event) {
      polls += 1;
      told(event);
      returned();
    },
    perform(name, input, attempt) {
      const ctx = attempting(attempt);
      say = ctx.log;
      // QuickJS seeds its own when the component is built: every attempt would draw the same.
      Math.random = generator(seedOf(`${attempt.idempotencyKey} ${attempt.attempt} ${Date.now()}`));
      const answer = Promise.resolve()
        .then(() => activities[name].run(decode(input), ctx))
        .then((value) => success(value, `the result of \`${name}\``))
        .then(undefined, failure);
      if (!drives) return answer;
      let outcome;
      answer.then((settled) => (outcome = settled));
      drain();
      return outcome ?? failure(new Failure(422, `\`${name}\` waits for a promise that nothing settles`));
    },
  };
  const describeObjects = () =>
    Object.entries(withObjects({}, objects)).map(([name, { shared }]) => ({
      function: name,
      access: shared ? 'shared' : 'exclusive',
    }));
  const describeRuns = () =>
    Object.entries(withObjects({}, objects)).flatMap(([name, { once }]) => (once ? [name] : []));
  const handlers = {
    describeHandlers: () => describedHandlers(workflows),
    query(name, input) {
      try {
        const answer = handler('query', name).run(shared.value, given(input));
        if (typeof answer?.then === 'function') throw new Error(`the query \`${name}\` waits; it is to answer at once`);
        return success(answer, `the answer of \`${name}\``);
      } catch (error) {
        return failure(error);
      }
    },
    validate(name, input) {
      try {
        handler('update', name).validate?.(shared.value, given(input));
        return undefined;
      } catch (error) {
        return failure(error).val;
      }
    },
  };
  const limits = { describeLimits: () => describedLimits({ ...workflows, ...activities }) };
  const commits = { describeCommits: () => describedCommits(workflows) };
  const exposures = { describeExposures: () => describedExposures({ ...workflows, ...activities }) };
  const messages = { describeMessages: () => describedMessages(workflows) };
  return { functions, messages, objects: { describeObjects }, runs: { describeRuns }, handlers, limits, commits, exposures };
}
