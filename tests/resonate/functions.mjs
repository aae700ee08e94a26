// What the workers of the suite can do, under names that functions.py uses too. Every worker registers all of it.

import { appendFileSync } from "node:fs";
import { Constant } from "@resonatehq/sdk";

const workers = (ctx) => ctx.options({ target: "workers" });
const delay = (ms) => new Promise((done) => setTimeout(done, ms));
// A line for each execution of a body, so that the suite can count them.
const note = (line) => process.env.LEDGER && appendFileSync(process.env.LEDGER, line + "\n");

export function register(resonate) {
  const functions = {
    // One step.
    echo: async (_ctx, value) => value,
    sum: async (_ctx, left, right) => left + right,
    *fail(_ctx, message) { throw new Error(message); },
    dawdle: async (_ctx, ms) => { await delay(ms); note("dawdled"); return "done"; },

    // A step of its own, a remote one, and a sleep.
    *parent(ctx, n) {
      const local = yield* ctx.run(async (_ctx, n) => n + 1, n);
      const remote = yield* ctx.rpc("double", local, workers(ctx));
      yield* ctx.sleep(200);
      return remote;
    },
    *double(_ctx, n) { return 2 * n; },

    *fan_out(ctx, count) {
      const calls = [];
      for (let n = 0; n < count; n++) calls.push(yield* ctx.beginRpc("echo", n, workers(ctx)));
      let total = 0;
      for (const call of calls) total += yield* call;
      return total;
    },

    *fibonacci(ctx, n) {
      if (n < 2) return n;
      const left = yield* ctx.beginRpc("fibonacci", n - 1, workers(ctx));
      const right = yield* ctx.beginRpc("fibonacci", n - 2, workers(ctx));
      return (yield* left) + (yield* right);
    },
    *fibonacci_local(ctx, n) {
      if (n < 2) return n;
      const left = yield* ctx.beginRun(functions.fibonacci_local, n - 1);
      const right = yield* ctx.beginRun(functions.fibonacci_local, n - 2);
      return (yield* left) + (yield* right);
    },

    *nap(ctx, ms) { yield* ctx.sleep(ms); return "rested"; },
    *approval(ctx) { const promise = yield* ctx.promise(); return yield* promise; },

    // Fails twice, then does not.
    *stubborn(ctx) {
      let attempts = 0;
      return yield* ctx.run(async () => {
        attempts += 1;
        note("attempt");
        if (attempts < 3) throw new Error("not yet");
        return attempts;
      }, ctx.options({ retryPolicy: new Constant({ delay: 50, maxRetries: 5 }) }));
    },

    // Steps that are counted, with a pause between them.
    *steps(ctx, count, ms) {
      for (let n = 0; n < count; n++) {
        yield* ctx.run(async () => { note(`step ${n}`); await delay(ms); });
      }
      return count;
    },

    // Children, and parents that do not await them.
    child: async (_ctx, name, ms) => { await delay(ms); note(`child ${name}`); return name; },
    *begin_all(ctx, count, ms) {
      for (let n = 0; n < count; n++) {
        yield* ctx.beginRpc("child", `remote ${n}`, ms, workers(ctx));
        yield* ctx.beginRun(functions.child, `local ${n}`, ms);
      }
      return "returned";
    },
    *one_fails(ctx, ms) {
      yield* ctx.beginRpc("child", "elder", ms, workers(ctx));
      const failing = yield* ctx.beginRpc("fail", "no stock", workers(ctx));
      yield* ctx.beginRun(functions.child, "younger", ms);
      yield* failing;
      return "it did not fail";
    },
    *leave_behind(ctx) { yield* ctx.detached("approval", workers(ctx)); return "left"; },

    // Functions of a module, called from here.
    *call_double(ctx, n) { return yield* ctx.rpc("double", n, ctx.options({ target: "wasm://bridge/double" })); },
    *call_add(ctx, a, b) { return yield* ctx.rpc("add", a, b, ctx.options({ target: "wasm://bridge/add" })); },
    *call_refuse(ctx, reason) {
      try {
        yield* ctx.rpc("refuse", reason, ctx.options({ target: "wasm://bridge/refuse" }));
        return "it did not refuse";
      } catch (error) {
        return error.message;
      }
    },
    *call_nap(ctx, ms, timeout) {
      try {
        yield* ctx.rpc("nap", ms, ctx.options({ target: "wasm://bridge/nap", timeout }));
        return "rested";
      } catch (error) {
        return `${error.name}`;
      }
    },
    *call_sum(ctx, a, b) { return yield* ctx.rpc("remote_sum", a, b, ctx.options({ target: "wasm://bridge/remote_sum" })); },
  };
  for (const [name, body] of Object.entries(functions)) resonate.register(name, body);
}
