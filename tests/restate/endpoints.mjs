// Endpoints that answer a discovery, each as its name in the path says, and serve nothing.

import http2 from "node:http2";

const handler = (name, rest = {}) => ({ name, input: { required: false, contentType: "application/json" }, output: { setContentTypeIfEmpty: false, contentType: "application/json" }, ...rest });
const service = (name, handlers = [handler("echo")], ty = "SERVICE") => ({ name, ty, handlers });
const manifest = (services, versions = [5, 6]) => ({
  protocolMode: "BIDI_STREAM",
  minProtocolVersion: versions[0],
  maxProtocolVersion: versions[1],
  services,
});
const both = [handler("echo"), handler("more")];

const manifests = {
  first: manifest([service("Other", both)]),
  second: manifest([service("Other", [...both, handler("third")])]),
  third: manifest([service("Third")]),
  gone: manifest([service("Gone")]),
  empty: manifest([]),
  old: manifest([service("Old")], [1, 4]),
  future: manifest([service("Future")], [8, 9]),
  reserved: manifest([service("restate")]),
  misnamed: manifest([service("no name")]),
  runless: manifest([service("Runless", [handler("stage", { ty: "SHARED" })], "WORKFLOW")]),
  twice: manifest([service("Twice"), service("Twice")]),
  retyped: manifest([service("Other", both, "VIRTUAL_OBJECT")]),
  handlerless: manifest([service("Other")]),
};

const server = http2.createServer((request, response) => {
  const [, name, route] = request.url.split("/");
  const say = (status, type, body) => {
    response.writeHead(status, { "content-type": type, "x-restate-server": "endpoints/1" });
    response.end(body);
  };
  const accepted = request.headers.accept ?? "";
  const version = [4, 3, 2, 1].find((version) => accepted.includes(`endpointmanifest.v${version}+json`)) ?? 1;
  const type = `application/vnd.restate.endpointmanifest.v${version}+json`;
  if (route !== "discover") return say(404, "text/plain", "no such route");
  if (name in manifests) return say(200, type, JSON.stringify(manifests[name]));
  if (name === "html") return say(200, "text/html", "<html></html>");
  if (name === "broken") return say(200, type, "{");
  if (name === "teapot") return say(418, "text/plain", "I am a teapot");
  return say(404, "text/plain", "no such endpoint");
});
server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` }));
});
