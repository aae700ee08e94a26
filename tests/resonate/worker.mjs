// A worker: takes tasks until it is killed. It says when it listens.

import { Resonate } from "@resonatehq/sdk";
import { register } from "./functions.mjs";

const { URL: url, WORKER: pid, TTL: ttl = "60000" } = process.env;
const resonate = new Resonate({ url, group: "workers", pid, ttl: Number(ttl) });
register(resonate);
console.log("listening");
setInterval(() => {}, 60_000);
