// What the released SDK itself takes against a host: `URL=http://127.0.0.1:7766 node measure.mjs [COUNT]`. A one-step workflow
// through `run` and `rpc`, one after the other, and fibonacci(8) with every call remote; worker and client in this process.
// It needs the packages beside it: copy this folder and `npm ci`, or use the cache that the suite installed.

import { Resonate } from "@resonatehq/sdk";

const { URL: url = "http://127.0.0.1:7766" } = process.env;
const count = Number(process.argv[2] ?? 200);
const tag = Date.now().toString(36);

const worker = new Resonate({ url, group: "measured", pid: `worker-${tag}` });
const client = new Resonate({ url, group: "measuring", pid: `client-${tag}` });
const here = (ctx) => ctx.options({ target: "measured" });
worker.register("one", function* one(ctx, n) { return yield* ctx.run(async (_ctx, n) => n + 1, n); });
worker.register("fibonacci", function* fibonacci(ctx, n) {
  if (n < 2) return n;
  const left = yield* ctx.beginRpc("fibonacci", n - 1, here(ctx));
  const right = yield* ctx.beginRpc("fibonacci", n - 2, here(ctx));
  return (yield* left) + (yield* right);
});

async function timed(what, times, once) {
  for (let n = 0; n < Math.min(20, times); n++) await once(`w${n}`);
  const took = [];
  for (let n = 0; n < times; n++) {
    const began = performance.now();
    await once(`${n}`);
    took.push(performance.now() - began);
  }
  took.sort((a, b) => a - b);
  const at = (percent) => took[Math.min(took.length - 1, Math.floor((took.length * percent) / 100))].toFixed(1);
  console.log(`${what}: p50 ${at(50)} ms, p99 ${at(99)} ms, least ${at(0)} ms (${times} times)`);
}

const target = client.options({ target: "measured" });
await timed("run, one step", count, (n) => worker.run(`run-${tag}-${n}`, "one", 1));
await timed("rpc, one step", count, (n) => client.rpc(`rpc-${tag}-${n}`, "one", 1, target));
await timed("fibonacci(8), every call remote", 5, (n) => client.rpc(`fib-${tag}-${n}`, "fibonacci", 8, target));
await worker.stop();
await client.stop();
process.exit(0);
