// Services whose steps take longer than they may be quiet for, on the newest SDK: `LEDGER=FILE PORT=0 node patience.mjs`.
// Prints one line of JSON with its URL.

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import http2 from "node:http2";
import * as restate from "sdk-1.17.2";

const { LEDGER, PORT = "0" } = process.env;
const { RestatePromise, TerminalError } = restate;

const note = (line) => appendFileSync(LEDGER, line + "\n");
const noted = (line) =>
  (existsSync(LEDGER) ? readFileSync(LEDGER, "utf8").split("\n") : []).filter((other) => other === line).length;
const after = (ms, value) => new Promise((done) => setTimeout(() => done(value), ms));

// A terminal error as a value.
const caught = async (promise) => {
  try {
    return { value: await promise };
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error;
    return { code: error.code, message: error.message };
  }
};

const step = (ctx, { name, ms }) =>
  ctx.run("step", () => {
    note(name);
    return after(ms, "the step");
  });

class Shout {
  constructor() {
    this.preview = { toJsonString: (text) => JSON.stringify(text), fromJsonString: (json) => JSON.parse(json) };
    this.contentType = "text/plain";
  }
  serialize(text) {
    return new TextEncoder().encode(text.toUpperCase());
  }
  deserialize(bytes) {
    return new TextDecoder().decode(bytes).toLowerCase();
  }
}

const Patience = restate.service({
  name: "Patience",
  handlers: {
    deadline: async (ctx, asked) => caught(step(ctx, asked).orTimeout(asked.ms / 2)),
    raceWithCall: async (ctx, asked) =>
      RestatePromise.race([step(ctx, asked), ctx.serviceClient({ name: "Patience" }).nap(asked.ms / 2)]),
    raceWithAwakeable: async (ctx, asked) => {
      const { id, promise } = ctx.awakeable();
      ctx.objectSendClient({ name: "Held" }, asked.name).keep(id);
      return RestatePromise.race([step(ctx, asked), promise]);
    },
    steps: async (ctx, asked) => {
      await step(ctx, asked);
      const slept = await caught(ctx.sleep(1));
      return slept.code ? `the step, then ${slept.message}` : "both";
    },
    nap: async (ctx, ms) => {
      await ctx.sleep(ms);
      return "the other";
    },
    noted: async (ctx, name) => noted(name),
    calls: async (ctx, key) => ctx.objectClient({ name: "Held" }, key).holds(),
    callsWithoutKey: async (ctx) => ctx.objectClient({ name: "Held" }, "").key(),
    length: async (ctx) => ctx.request().headers.get("content-length") ?? null,
    // Each await is a suspension where the service may not be quiet at all.
    attempts: async (ctx, name) => {
      note(name);
      await ctx.run("a", () => 1);
      await ctx.run("b", () => 2);
      await ctx.sleep(1);
      return noted(name);
    },
    fails: async (ctx, name) => {
      await ctx.run("money", () => {
        throw new Error("no money");
      });
    },
    shouts: restate.handlers.handler({ input: new Shout(), output: new Shout() }, async (ctx, text) => text),
  },
  options: { inactivityTimeout: 300, abortTimeout: 60_000, retryPolicy: { initialInterval: 60_000 } },
});

const Held = restate.object({
  name: "Held",
  handlers: {
    holds: async (ctx) => {
      const { id, promise } = ctx.awakeable();
      ctx.set("awakeable", id);
      return promise;
    },
    keep: async (ctx, id) => ctx.set("awakeable", id),
    kept: restate.handlers.object.shared(async (ctx) => ctx.get("awakeable")),
    free: async (ctx) => "free",
    key: async (ctx) => `the key is '${ctx.key}'`,
  },
});

const endpoint = restate.endpoint();
// Standard output has the URL only.
endpoint.setLogger((_about, ...message) => console.error(...message));
for (const service of [Patience, Held]) endpoint.bind(service);
const server = http2.createServer(endpoint.http2Handler());
server.listen(Number(PORT), "127.0.0.1", () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` }));
});
