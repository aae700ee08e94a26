// A client: `ask.mjs run|rpc|module|settle|schedule|unschedule ID …`. Prints what came of it as one line of JSON.

import { Resonate } from "@resonatehq/sdk";
import { register } from "./functions.mjs";

const { URL: url, TTL: ttl = "60000" } = process.env;
const [how, id, name, ...args] = process.argv.slice(2);
const values = args.map((text) => JSON.parse(text));
const resonate = new Resonate({ url, group: how === "run" ? "workers" : "clients", ttl: Number(ttl) });

async function answer() {
  switch (how) {
    case "run":
      register(resonate);
      return await resonate.run(id, name, ...values);
    case "rpc":
      return await resonate.rpc(id, name, ...values, resonate.options({ target: "workers" }));
    case "module":
      return await resonate.rpc(id, name, ...values, resonate.options({ target: `wasm://bridge/${name}` }));
    case "settle":
      await resonate.promises.resolve(id, { data: btoa(name) });
      return null;
    case "schedule":
      await resonate.schedule(id, "* * * * * *", name, ...values, resonate.options({ target: "workers" }));
      return null;
    case "unschedule":
      await resonate.schedules.delete(id);
      return null;
    default:
      throw new Error(`${how} is no way to ask`);
  }
}

const began = performance.now();
let line;
try {
  line = { value: await answer() };
} catch (error) {
  line = { error: error?.message ?? String(error) };
}
console.log(JSON.stringify({ ...line, ms: performance.now() - began }));
await resonate.stop();
process.exit(0);
