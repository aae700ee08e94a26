// The services of the suite, on the released SDK that `SDK` names: `SDK=sdk-1.14.5 LEDGER=FILE PORT=0 node service.mjs`.
// Prints one line of JSON with its URL. service.py has the same services under the same names.

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import http2 from "node:http2";

const { SDK = "sdk-1.17.2", LEDGER, PORT = "0" } = process.env;
const restate = await import(SDK);
const { TerminalError, serde } = restate;
const Combined = restate.RestatePromise ?? restate.CombineablePromise;

// A line for each execution of a body, so that the suite can count them.
const note = (line) => LEDGER && appendFileSync(LEDGER, line + "\n");
const lines = () => (LEDGER && existsSync(LEDGER) ? readFileSync(LEDGER, "utf8").split("\n") : []);
const noted = (line) => lines().filter((other) => other === line).length;
// How many times it was written, this time included.
const count = (line) => { note(line); return noted(line); };

const json = { inputSerde: serde.json, outputSerde: serde.json };
const call = (ctx, { service, key, handler, value, ...rest }) =>
  ctx.genericCall({ service, key, method: handler, parameter: value, ...json, ...rest });
const send = (ctx, { service, key, handler, value, ...rest }) =>
  ctx.genericSend({ service, key, method: handler, parameter: value, inputSerde: serde.json, ...rest });
const plain = (handler, value) => ({ service: "Plain", handler, value });

// A terminal error as a value.
const caught = async (promise) => {
  try {
    return { value: (await promise) ?? null };
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error;
    return { code: error.code, message: error.message };
  }
};

// Intervals have two names, and some versions know neither.
const retries = { initialRetryIntervalMillis: 20, initialRetryInterval: 20, maxRetryIntervalMillis: 100, maxRetryInterval: 100 };
const retryPolicy = { initialInterval: 20, maxInterval: 200, exponentiationFactor: 2 };

// It waits for an awakeable whose id it puts into a cell of that name.
const opened = (ctx, name) => {
  const { id, promise } = ctx.awakeable();
  send(ctx, { service: "Cell", key: name, handler: "set", value: { name: "awakeable", value: id } });
  return promise;
};

const Plain = restate.service({
  name: "Plain",
  handlers: {
    echo: async (_ctx, value) => value,
    nothing: async (_ctx) => {},
    headers: async (ctx, names) =>
      Object.fromEntries(names.map((name) => [name, ctx.request().headers.get(name) ?? null])),
    raw: restate.handlers.handler(
      { accept: "application/octet-stream", input: serde.binary, output: serde.binary },
      async (_ctx, bytes) => bytes,
    ),
    hidden: restate.handlers.handler({ ingressPrivate: true }, async (_ctx, value) => value),

    // Errors.
    fail: async (_ctx, { code, message, metadata }) => {
      throw new TerminalError(message, { errorCode: code, metadata });
    },
    flaky: async (_ctx, name) => {
      const attempts = count(`flaky ${name}`);
      if (attempts < 3) throw new Error("not yet");
      return attempts;
    },
    stuck: restate.handlers.handler(
      { retryPolicy: { ...retryPolicy, maxAttempts: 2, onMaxAttempts: "pause" } },
      async (_ctx, name) => {
        count(`stuck ${name}`);
        if (noted(`allow ${name}`) === 0) throw new Error(`${name} is not allowed`);
        return "allowed";
      },
    ),
    doomed: restate.handlers.handler(
      { retryPolicy: { ...retryPolicy, maxAttempts: 2, onMaxAttempts: "kill" } },
      async (_ctx, name) => {
        count(`doomed ${name}`);
        throw new Error(`${name} is doomed`);
      },
    ),
    // The second attempt asks for something else than the first.
    mismatch: async (ctx, name) => {
      const attempt = count(`mismatch ${name}`);
      if (attempt === 2) await ctx.run("other", () => 1);
      else await ctx.sleep(1);
      if (attempt === 1) throw new Error("once more");
      return "matched";
    },

    // The ledger.
    note: async (ctx, line) => ctx.run("note", () => count(line)),
    noted: async (ctx, line) => ctx.run("noted", () => noted(line)),

    // Side effects.
    run: async (ctx, value) => {
      const nothing = await ctx.run("nothing", () => {});
      return [await ctx.run("value", () => value), nothing ?? null];
    },
    runFlaky: async (ctx, name) =>
      ctx.run("flaky", () => {
        const attempts = count(`runFlaky ${name}`);
        if (attempts < 3) throw new Error("not yet");
        return attempts;
      }, retries),
    runGivesUp: async (ctx, name) => {
      const body = () => { count(`runGivesUp ${name}`); throw new Error("never"); };
      const { code } = await caught(ctx.run("never", body, { ...retries, maxRetryAttempts: 3 }));
      return { code, attempts: await ctx.run("attempts", () => noted(`runGivesUp ${name}`)) };
    },
    runTerminal: async (ctx, message) =>
      caught(ctx.run("terminal", () => { throw new TerminalError(message, { errorCode: 418 }); })),
    steps: async (ctx, { name, count: steps, ms }) => {
      for (let step = 0; step < steps; step++) {
        await ctx.run(`step ${step}`, () => note(`${name} ${step}`));
        if (ms) await ctx.sleep(ms);
      }
      return steps;
    },

    // Time and chance.
    sleep: async (ctx, ms) => { await ctx.sleep(ms); return "rested"; },
    random: async (ctx) => {
      const drawn = { number: ctx.rand.random(), uuid: ctx.rand.uuidv4(), at: await ctx.date.now() };
      const kept = await ctx.run("kept", () => drawn);
      await ctx.sleep(20);
      return {
        number: drawn.number >= 0 && drawn.number < 1,
        uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(drawn.uuid),
        at: drawn.at > 1.7e12,
        same: JSON.stringify(kept) === JSON.stringify(drawn),
      };
    },

    // Calls.
    call: async (ctx, target) => call(ctx, target),
    callCatches: async (ctx, target) => caught(call(ctx, target)),
    send: async (ctx, target) => { send(ctx, target); return "sent"; },
    sendForId: async (ctx, target) => send(ctx, target).invocationId,
    callTwice: async (ctx, { name, idempotencyKey }) => {
      const counted = { ...plain("note", `callTwice ${name}`), idempotencyKey };
      return [await call(ctx, counted), await call(ctx, counted)];
    },
    fibonacci: async (ctx, n) => {
      if (n < 2) return n;
      const both = [n - 1, n - 2].map((less) => call(ctx, plain("fibonacci", less)));
      const [left, right] = await Combined.all(both);
      return left + right;
    },

    // Combinations.
    all: async (ctx, values) => Combined.all(values.map((value) => call(ctx, plain("echo", value)))),
    race: async (ctx, value) => Combined.race([ctx.awakeable().promise, call(ctx, plain("echo", value))]),
    any: async (ctx, value) =>
      Combined.any([call(ctx, plain("fail", { code: 500, message: "no" })), call(ctx, plain("echo", value))]),
    settled: async (ctx, value) => {
      const failing = call(ctx, plain("fail", { code: 418, message: "no" }));
      const settled = await Combined.allSettled([call(ctx, plain("echo", value)), failing]);
      return settled.map(({ status, value, reason }) => ({ status, value, message: reason?.message }));
    },
    timeout: async (ctx, ms) => caught(ctx.awakeable().promise.orTimeout(ms)),

    // Events.
    awakeable: async (ctx, name) => caught(opened(ctx, name)),
    resolveAwakeable: async (ctx, { id, value }) => { ctx.resolveAwakeable(id, value); return "resolved"; },
    rejectAwakeable: async (ctx, { id, reason }) => { ctx.rejectAwakeable(id, reason); return "rejected"; },
    signal: async (ctx, name) => caught(ctx.signal(name)),
    resolveSignal: async (ctx, { id, name, value }) => {
      ctx.invocation(id).signal(name).resolve(value);
      return "resolved";
    },
    rejectSignal: async (ctx, { id, name, reason }) => {
      ctx.invocation(id).signal(name).reject(reason);
      return "rejected";
    },

    // Other invocations.
    waits: async (ctx, name) => opened(ctx, name),
    callsWaits: async (ctx, name) => call(ctx, plain("waits", name)),
    cleansUp: async (ctx, name) => {
      const ended = await caught(opened(ctx, name));
      await ctx.run("clean", () => note(`cleaned ${name}`));
      return { cleaned: ended };
    },
    cancel: async (ctx, id) => { ctx.cancel(id); return "asked"; },
    cancelChild: async (ctx, name) => {
      const id = await send(ctx, plain("waits", name)).invocationId;
      ctx.cancel(id);
      return caught(ctx.attach(id, serde.json));
    },
    attach: async (ctx, id) => caught(ctx.attach(id, serde.json)),
  },
  options: { retryPolicy },
});

const shared = restate.handlers.object.shared;
const cell = {
  key: async (ctx) => ctx.key,
  set: async (ctx, { name, value }) => ctx.set(name, value),
  get: shared(async (ctx, name) => ctx.get(name)),
  read: async (ctx, name) => ctx.get(name),
  keys: shared(async (ctx) => (await ctx.stateKeys()).sort()),
  clear: async (ctx, name) => ctx.clear(name),
  clearAll: async (ctx) => ctx.clearAll(),
  add: async (ctx, amount) => {
    const total = ((await ctx.get("total")) ?? 0) + amount;
    ctx.set("total", total);
    return total;
  },
  // Own writes are read back, before and after.
  changes: async (ctx) => {
    const seen = [await ctx.get("a")];
    ctx.set("a", 1);
    ctx.set("b", 2);
    seen.push(await ctx.get("a"), (await ctx.stateKeys()).sort());
    ctx.clear("a");
    seen.push(await ctx.get("a"), (await ctx.stateKeys()).sort());
    ctx.clearAll();
    seen.push(await ctx.get("b"), (await ctx.stateKeys()).sort());
    return seen;
  },
  // Exclusive, so those that came later wait.
  slow: async (ctx, { label, ms }) => {
    await ctx.sleep(ms);
    const order = [...((await ctx.get("order")) ?? []), label];
    ctx.set("order", order);
    return order;
  },
  setAndFail: async (ctx, { name, value }) => {
    ctx.set(name, value);
    throw new TerminalError("failed after the write", { errorCode: 409 });
  },
  transfer: async (ctx, { service, to, amount }) => {
    const total = ((await ctx.get("total")) ?? 0) - amount;
    ctx.set("total", total);
    await ctx.run("transfer", () => note(`transfer ${ctx.key} ${to} ${amount}`));
    await call(ctx, { service, key: to, handler: "add", value: amount });
    return total;
  },
};
const Cell = restate.object({ name: "Cell", handlers: cell, options: { retryPolicy } });
const LazyCell = restate.object({
  name: "LazyCell",
  handlers: cell,
  options: { retryPolicy, enableLazyState: true },
});

const Approval = restate.workflow({
  name: "Approval",
  handlers: {
    run: async (ctx, what) => {
      ctx.set("stage", "asked");
      await ctx.run("ask", () => note(`asked ${ctx.key}`));
      const answer = await caught(ctx.promise("answer").get());
      ctx.set("stage", "answered");
      await ctx.promise("done").resolve("done");
      if (answer.code) throw new TerminalError(answer.message, { errorCode: answer.code });
      return { what, key: ctx.key, answer: answer.value };
    },
    stage: async (ctx) => ctx.get("stage"),
    peek: async (ctx) => (await ctx.promise("answer").peek()) ?? null,
    approve: async (ctx, value) => caught(ctx.promise("answer").resolve(value)),
    refuse: async (ctx, reason) => caught(ctx.promise("answer").reject(reason)),
    done: async (ctx) => ctx.promise("done").get(),
  },
  options: { retryPolicy },
});

const endpoint = restate.endpoint();
// Standard output has the URL only.
endpoint.setLogger((_about, ...message) => console.error(...message));
for (const service of [Plain, Cell, LazyCell, Approval]) endpoint.bind(service);
const server = http2.createServer(endpoint.http2Handler());
server.listen(Number(PORT), "127.0.0.1", () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}`, sdk: SDK }));
});
