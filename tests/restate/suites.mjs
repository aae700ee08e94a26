// Services for the cases of the originals' suites that service.mjs has not, on the newest SDK:
// `LEDGER=FILE IDENTITY=FILE PORT=0 node suites.mjs`. They answer signed requests only; the key that signs is written to
// IDENTITY. With QUIET_MS=0 each wait is a suspension. Prints one line of JSON with its URL. Below /one and /two, and below
// /failing and /mended, are two versions of a service.

import { generateKeyPairSync } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import http2 from "node:http2";
import * as restate from "sdk-1.17.2";

const { LEDGER, IDENTITY, QUIET_MS, PORT = "0" } = process.env;
const { RestatePromise, TerminalError, serde } = restate;
const { shared } = restate.handlers.object;

const DAY_MS = 86_400_000;
const quiet = QUIET_MS === undefined ? {} : { inactivityTimeout: Number(QUIET_MS) };

const note = (line) => appendFileSync(LEDGER, line + "\n");
const noted = (line) =>
  (existsSync(LEDGER) ? readFileSync(LEDGER, "utf8").split("\n") : []).filter((other) => other === line).length;
const after = (ms, value) => new Promise((done) => setTimeout(() => done(value), ms));

// A terminal error as a value.
const caught = async (promise) => {
  try {
    return { value: (await promise) ?? null };
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error;
    return { code: error.code, message: error.message };
  }
};

// One of the things that a handler waits for, by its kind.
const kinds = {
  awakeable: (ctx, name) => {
    const { id, promise } = ctx.awakeable();
    ctx.objectSendClient(Book, name).keep(id);
    return promise;
  },
  signal: (ctx, name) => ctx.signal(name),
  sleep: (ctx, ms) => ctx.sleep(ms).map(() => "slept"),
  run: (ctx, value) => ctx.run("run", () => after(1, value)),
  fails: (ctx, reason) =>
    ctx.run("fails", async () => {
      await after(1);
      throw new TerminalError(reason);
    }),
};

const add = ({ key, amount, delay, idempotencyKey }) => ({
  service: "Book",
  key,
  method: "add",
  parameter: amount,
  inputSerde: serde.json,
  delay,
  idempotencyKey,
});

const Case = restate.service({
  name: "Case",
  handlers: {
    // Waits for one, some or all of several.
    waits: async (ctx, { how, on }) => {
      const all = on.map((one) => Object.entries(one)[0]).map(([kind, value]) => kinds[kind](ctx, value));
      const ended = await caught(RestatePromise[how](all));
      if (how !== "allSettled") return ended;
      return ended.value.map(({ value, reason }) => (reason ? { message: reason.message } : { value }));
    },
    timesOut: async (ctx, ms) => caught(ctx.awakeable().promise.orTimeout(ms)),
    tell: async (ctx, { id, name, value, reason }) => {
      const signal = ctx.invocation(id).signal(name);
      return reason === undefined ? signal.resolve(value) : signal.reject(reason);
    },
    naps: async (ctx, lengths) => (await RestatePromise.all(lengths.map((ms) => ctx.sleep(ms)))).length,
    cancels: async (ctx, id) => ctx.cancel(id),

    // Calls of an object.
    many: async (ctx, { key, ways }) => {
      const called = [];
      ways.forEach((way, place) => {
        if (way === "send") ctx.objectSendClient(Book, key).append(place);
        else called.push(ctx.objectClient(Book, key).append(place));
      });
      await RestatePromise.all(called);
    },
    adds: async (ctx, asked) => ctx.genericCall({ ...add(asked), outputSerde: serde.json }),
    sendsAdd: async (ctx, asked) => {
      for (let time = 0; time < (asked.times ?? 1); time++) ctx.genericSend(add(asked));
    },

    // Steps.
    tries: async (ctx, { name, attempts }) => {
      const never = () => {
        note(name);
        throw new Error("never");
      };
      const failed = await caught(ctx.run("never", never, { maxRetryAttempts: attempts, initialRetryInterval: 10 }));
      return { code: failed.code, attempts: await ctx.run("noted", () => noted(name)) };
    },
    stepFails: async (ctx, { message, metadata }) =>
      ctx.run("fails", () => {
        throw new TerminalError(message, { errorCode: 418, metadata });
      }),
    callsStepFails: async (ctx, asked) => ctx.serviceClient(Case).stepFails(asked),
    // How many steps the last attempt executed.
    executes: async (ctx, steps) => {
      let executed = 0;
      for (let step = 0; step < steps; step++) await ctx.run("step", () => void (executed += 1));
      return executed;
    },

    // The same again.
    note: async (_ctx, line) => note(line),
    greetsOnceAllowed: async (ctx, name) => {
      const is = await ctx.run("is", () => (noted(`allow ${name}`) ? "allowed" : "early"));
      if (!noted(`allow ${name}`)) throw new TerminalError("not yet", { errorCode: 425 });
      return `${name} was ${is}`;
    },
    draws: async (ctx) => ctx.rand.uuidv4(),
    header: async (ctx, name) => ctx.request().headers.get(name) ?? null,

    // The status with which this endpoint answers a request that nobody signed.
    unsigned: async (ctx) => ctx.run("unsigned", unsigned),
  },
  options: { ...quiet },
});

const Book = restate.object({
  name: "Book",
  handlers: {
    keep: async (ctx, id) => ctx.set("kept", id),
    kept: shared(async (ctx) => ctx.get("kept")),
    add: async (ctx, amount) => {
      const before = (await ctx.get("total")) ?? 0;
      ctx.set("total", before + amount);
      return { before, after: before + amount };
    },
    total: shared(async (ctx) => ctx.get("total")),
    append: async (ctx, entry) => ctx.set("entries", [...((await ctx.get("entries")) ?? []), entry]),
    entries: async (ctx) => ctx.get("entries"),
    set: async (ctx, { name, value }) => ctx.set(name, value),
    get: shared(async (ctx, name) => ctx.get(name)),
    clearAll: async (ctx) => {
      const names = (await ctx.stateKeys()).sort();
      ctx.clearAll();
      return names;
    },
  },
  options: { ...quiet },
});

// A caller that is told when what it waits for ends, and a callee that waits for one thing or another.
const Caller = restate.object({
  name: "Caller",
  handlers: {
    waits: async (ctx, how) => {
      const ended = await caught(ctx.objectClient(Callee, ctx.key).waits(how));
      ctx.set("ended", ended);
      return ended;
    },
    ended: async (ctx) => ctx.get("ended"),
  },
  options: { ...quiet },
});
const Callee = restate.object({
  name: "Callee",
  handlers: {
    waits: async (ctx, how) => {
      ctx.set("waits", how);
      // Its own key is taken, by itself.
      if (how === "call") await ctx.objectClient(Callee, ctx.key).free();
      if (how === "sleep") await ctx.sleep(DAY_MS);
      if (how === "awakeable") await ctx.awakeable().promise;
    },
    waiting: shared(async (ctx) => ctx.get("waits")),
    free: async () => "free",
  },
  options: { ...quiet },
});

// Handlers that do something else in their second attempt: each waits, is suspended, and fails for good.
const begun = new Set();
const isFirst = (key) => !begun.has(key) && !!begun.add(key);
const fickle = (does) => async (ctx) => {
  await does(ctx, isFirst(ctx.key));
  await ctx.sleep(50);
  ctx.objectSendClient(Book, ctx.key).add(1);
};
const Fickle = restate.object({
  name: "Fickle",
  handlers: {
    sleepsOrCalls: fickle((ctx, first) => (first ? ctx.sleep(50) : ctx.objectClient(Book, "fickle").total())),
    callsAnother: fickle((ctx, first) => ctx.objectClient(Book, "fickle")[first ? "total" : "kept"]()),
    sendsToAnother: fickle((ctx, first) => void ctx.objectSendClient(Book, first ? "fickle-a" : "fickle-b").total()),
    setsAnother: fickle((ctx, first) => ctx.set(first ? "a" : "b", 1)),
  },
  options: { inactivityTimeout: 0, retryPolicy: { initialInterval: 10, maxAttempts: 1, onMaxAttempts: "kill" } },
});

const versioned = (version) =>
  restate.object({
    name: "Versioned",
    handlers: {
      version: async () => version,
      holds: async (ctx) => {
        ctx.set("began", version);
        const { id, promise } = ctx.awakeable();
        ctx.objectSendClient(Book, ctx.key).keep(id);
        const told = await promise;
        return [await ctx.get("began"), told, version];
      },
    },
    options: { ...quiet },
  });
const mended = (run) =>
  restate.service({
    name: "Mended",
    handlers: { run: async (ctx) => ctx.run("run", run) },
    options: { ...quiet, retryPolicy: { initialInterval: 10, maxAttempts: 3, onMaxAttempts: "pause" } },
  });
const fails = () => {
  throw new Error("not in this version");
};

const { publicKey, privateKey } = generateKeyPairSync("ed25519");
writeFileSync(IDENTITY, privateKey.export({ format: "pem", type: "pkcs8" }), { mode: 0o600 });
const base58 = (bytes) => {
  const letters = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  let text = "";
  for (let number = BigInt(`0x${bytes.toString("hex")}`); number > 0n; number /= 58n) text = letters[Number(number % 58n)] + text;
  return "1".repeat(bytes.findIndex((byte) => byte !== 0)) + text;
};
const identity = `publickeyv1_${base58(publicKey.export({ format: "der", type: "spki" }).subarray(-32))}`;

const served = (services) => {
  const endpoint = restate.endpoint().withIdentityV1(identity);
  // Standard output has the URL only.
  endpoint.setLogger((_about, ...message) => console.error(...message));
  for (const service of services) endpoint.bind(service);
  return endpoint.http2Handler();
};
const endpoints = {
  one: served([versioned("one")]),
  two: served([versioned("two")]),
  failing: served([mended(fails)]),
  mended: served([mended(() => "mended")]),
};
const main = served([Case, Book, Caller, Callee, Fickle]);
const server = http2.createServer((request, response) => {
  const [, first] = request.url.split("/");
  return (endpoints[first] ?? main)(request, response);
});

const unsigned = () =>
  new Promise((done, failed) => {
    const session = http2.connect(`http://127.0.0.1:${server.address().port}`).on("error", failed);
    const request = session.request({
      ":method": "POST",
      ":path": "/invoke/Case/draws",
      "content-type": "application/vnd.restate.invocation.v5",
    });
    request.on("error", failed).on("response", (headers) => {
      done(headers[":status"]);
      session.destroy();
    });
    request.end();
  });

server.listen(Number(PORT), "127.0.0.1", () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` }));
});
