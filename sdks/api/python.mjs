// Writes the types and routes of the API in Python: dictionaries with the names of fields that the API has.
import { descriptionOf, isValue, referenceOf } from './document.mjs';

const SCALARS = { string: 'str', integer: 'int', number: 'float', boolean: 'bool' };

function typeOf(schema) {
  const reference = referenceOf(schema);
  if (reference) return reference;
  const kind = [schema.type].flat().find((one) => one !== 'null');
  if (kind === 'array') return `list[${typeOf(schema.items)}]`;
  if (kind === 'object') return `dict[str, ${typeOf(schema.additionalProperties ?? {})}]`;
  return SCALARS[kind] ?? 'Json';
}

function doc(text, indent = '    ') {
  if (text === '') return '';
  const lines = text.replaceAll('\\', '\\\\').split('\n');
  const indented = lines.map((line, at) => (at === 0 ? line : `${indent}${line}`.trimEnd()));
  const tail = lines.length === 1 ? '' : `\n${indent}`;
  return `${indent}"""${indented.join('\n')}${tail}"""\n`;
}

/** True if the API takes `null` for the field, as if it were absent. */
const isNullable = (field) =>
  [field.type].flat().includes('null') || Boolean(field.oneOf?.some((one) => one.type === 'null'));

const fieldsOf = (schema, isBody) =>
  Object.entries(schema.properties ?? {})
    .map(([name, field]) => {
      const full = `${typeOf(field)}${isBody && isNullable(field) ? ' | None' : ''}`;
      const type = schema.required?.includes(name) ? full : `NotRequired[${full}]`;
      return `    ${name}: ${type}\n${doc(descriptionOf(field))}`;
    })
    .join('');

function declarationOf({ name, schema, used }) {
  const isBody = used.has('body');
  if (schema.enum) {
    const words = schema.enum.map((one) => `"${one}"`).join(', ');
    return `${name} = Literal[${words}]\n${doc(schema.description ?? '', '')}`;
  }
  // Its names are not all names of Python.
  if (isValue(schema)) {
    const fields = Object.entries(schema.properties).map(([field, one]) => `"${field}": ${typeOf(one)}`);
    return `${name} = TypedDict("${name}", {${fields.join(', ')}})\n${doc(schema.description ?? '', '')}`;
  }
  const bases = (schema.allOf ?? []).map(referenceOf).filter(Boolean);
  const own = schema.allOf
    ? schema.allOf
        .filter((part) => !part.$ref)
        .map((part) => fieldsOf(part, isBody))
        .join('')
    : fieldsOf(schema, isBody);
  return `class ${name}(${bases.join(', ') || 'TypedDict'}):\n${doc(schema.description ?? '')}\n${own || '    pass\n'}`;
}

/** \`POST /v1/events/ack\` as \`POST_EVENTS_ACK\`. */
const constantOf = (name) =>
  name
    .replace(/\/v1\//, ' ')
    .replace(/\{(\w+)\}/g, '$1')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase();

function routeOf({ name, body, bytesIn, answer, parameters }) {
  const [method, path] = name.split(' ');
  const types = `${body ?? (bytesIn ? 'bytes' : 'None')}, ${answer ?? 'bytes'}`;
  const query = parameters.map((parameter) => `"${parameter.name}"`).join(', ');
  const names = query === '' ? '()' : `(${query},)`;
  return `${constantOf(name)}: Route[${types}] = Route("${method}", "${path}", ${names})\n`;
}

/** Each type after those that it names: Python reads the annotations of a class when it makes the class. */
function ordered(types) {
  const byName = new Map(types.map((type) => [type.name, type]));
  const result = new Set();
  const visit = (type) => {
    if (result.has(type)) return;
    for (const [, name] of JSON.stringify(type.schema).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (name !== type.name) visit(byName.get(name));
    }
    result.add(type);
  };
  types.forEach(visit);
  return [...result];
}

/** Returns the source of `api.py`. */
export function python({ routes, types, codes }) {
  return `# Written by \`sdks/api/generate.mjs\` from the OpenAPI document of a host. Do not edit.
"""The documents of the HTTP API as typed dictionaries, and the routes that the clients use."""

from dataclasses import dataclass
from typing import Any, Generic, Literal, NotRequired, TypeAlias, TypedDict, TypeVar

Json: TypeAlias = Any
"""Any value that JSON can say."""

Body = TypeVar("Body")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Route(Generic[Body, Answer]):
    """A route with the types of its body and its answer."""

    method: str
    path: str
    query: tuple[str, ...]


${ordered(types).map(declarationOf).join('\n\n')}

${routes.map(routeOf).join('')}
ProblemCode = Literal[
${codes.map((code) => `    "${code}",\n`).join('')}]
"""The stable codes of problems that the OpenAPI document names."""
`;
}
