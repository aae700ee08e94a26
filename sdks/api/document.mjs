// The OpenAPI document of a host, reduced to the routes of `routes.txt` and the types that they use.
import { readFileSync } from 'node:fs';

/** The routes of the clients, each as `METHOD /path`. */
export const routeNames = () =>
  readFileSync(new URL('routes.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '');

/** Reads the document of the host at `server`. */
export async function fetchDocument(server) {
  const answer = await fetch(`${server}/openapi.json`);
  if (!answer.ok) throw new Error(`${server}/openapi.json answers ${answer.status}`);
  return answer.json();
}

const nameOf = (reference) => reference.split('/').at(-1);

/** The name of a component that `schema` refers to, also if it may be null. */
export function referenceOf(schema) {
  if (schema.$ref) return nameOf(schema.$ref);
  const reference = schema.oneOf?.find((one) => one.$ref);
  return reference && nameOf(reference.$ref);
}

/** True for a type that stands in values of users, such as the reference of a blob: its fields keep their names. */
export const isValue = (schema) => Object.keys(schema.properties ?? {}).some((name) => name.includes(':'));

/** The description of a field, also where it stands beside its reference. */
export const descriptionOf = (schema) =>
  schema.description ?? schema.oneOf?.find((one) => one.description)?.description ?? '';

function routeOf(document, name) {
  const [method, path] = name.split(' ');
  const operation = document.paths[path]?.[method.toLowerCase()];
  if (!operation) throw new Error(`the API has no route ${name}`);
  const body = operation.requestBody?.content;
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith('2'));
  const answer = success?.[1].content?.['application/json']?.schema;
  return {
    name,
    summary: operation.summary ?? '',
    parameters: (operation.parameters ?? []).filter((parameter) => parameter.in === 'query'),
    body: body?.['application/json'] && referenceOf(body['application/json'].schema),
    bytesIn: Boolean(body && !body['application/json']),
    answer: answer && referenceOf(answer),
  };
}

/** The codes of problems that the document names, sorted. */
function codesOf(document) {
  const codes = new Set();
  for (const path of Object.values(document.paths)) {
    for (const operation of Object.values(path)) {
      for (const response of Object.values(operation.responses)) {
        if (!response.content?.['application/problem+json']) continue;
        for (const [, code] of response.description.matchAll(/`([a-z]+(?:-[a-z]+)*)`/g)) codes.add(code);
      }
    }
  }
  return [...codes].sort();
}

/** Returns `{ routes, types, codes }`; `types` has the schemas, each with `used`: `body`, `answer` or both. */
export function reduce(document) {
  const routes = routeNames().map((name) => routeOf(document, name));
  const types = new Map();
  const visit = (schema, use) => {
    if (schema === null || typeof schema !== 'object') return;
    if (schema.$ref) take(nameOf(schema.$ref), use);
    for (const part of Object.values(schema)) visit(part, use);
  };
  const take = (name, use) => {
    const known = types.get(name);
    if (known?.used.has(use)) return;
    const type = known ?? { name, schema: document.components.schemas[name], used: new Set() };
    type.used.add(use);
    types.set(name, type);
    visit(type.schema, use);
  };
  for (const route of routes) {
    if (route.body) take(route.body, 'body');
    if (route.answer) take(route.answer, 'answer');
  }
  const sorted = [...types.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { routes, types: sorted, codes: codesOf(document) };
}
