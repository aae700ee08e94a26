// A worker: takes tasks until it is killed.

import { Resonate } from "@resonatehq/sdk";
import { register } from "./functions.mjs";

const { URL: url, WORKER: pid, TTL: ttl = "60000" } = process.env;
const resonate = new Resonate({ url, group: "workers", pid, ttl: Number(ttl) });
register(resonate);
setInterval(() => {}, 60_000);
