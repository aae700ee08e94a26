// Writes the types and routes of the API in TypeScript. Names of fields are in camel case; `nested` lets the client
// rename the fields of answers and bodies without touching the values of users.
import { descriptionOf, isValue, referenceOf } from './document.mjs';

/** `created_at_ms` as `createdAtMs`. */
export const camel = (name) => name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

const comment = (text, indent = '') => {
  const words = text.replace(/`([^`]*)`/g, (_, code) => `\`${/^[a-z_]+$/.test(code) ? camel(code) : code}\``);
  const lines = words.replaceAll('*/', '*\\/').split('\n');
  if (text === '') return '';
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
};

const SCALARS = { string: 'string', integer: 'number', number: 'number', boolean: 'boolean' };

function typeOf(schema) {
  const reference = referenceOf(schema);
  if (reference) return reference;
  const kind = [schema.type].flat().find((one) => one !== 'null');
  if (kind === 'array') return `${typeOf(schema.items)}[]`;
  if (kind === 'object') return `Record<string, ${typeOf(schema.additionalProperties ?? {})}>`;
  return SCALARS[kind] ?? 'unknown';
}

function fieldOf(name, schema, isRequired) {
  const [mark, more] = isRequired ? ['', ''] : ['?', ' | undefined'];
  return `${comment(descriptionOf(schema), '  ')}  ${name}${mark}: ${typeOf(schema)}${more};\n`;
}

const nameOf = (schema, name) => (isValue(schema) ? (/^\w+$/.test(name) ? name : `'${name}'`) : camel(name));

const fieldsOf = (schema) =>
  Object.entries(schema.properties ?? {})
    .map(([name, field]) => fieldOf(nameOf(schema, name), field, schema.required?.includes(name)))
    .join('');

function declarationOf({ name, schema }) {
  const head = comment(schema.description ?? '');
  if (schema.enum) return `${head}export type ${name} = ${schema.enum.map((one) => `'${one}'`).join(' | ')};\n`;
  if (!schema.allOf) return `${head}export interface ${name} {\n${fieldsOf(schema)}}\n`;
  const bases = schema.allOf.map(referenceOf).filter(Boolean);
  const own = schema.allOf
    .filter((part) => !part.$ref)
    .map(fieldsOf)
    .join('');
  return `${head}export interface ${name} extends ${bases.join(', ')} {\n${own}}\n`;
}

/** The fields of a type that hold other types with fields: `Type`, `[Type` for a list, `{Type` for a map. */
function nestedOf(schema, isInterface) {
  const fields = {};
  for (const part of [schema, ...(schema.allOf ?? [])]) {
    const base = part === schema ? undefined : referenceOf(part);
    if (base) fields['...'] = base;
    for (const [name, field] of Object.entries(part.properties ?? {})) {
      const [mark, inner] = field.items
        ? ['[', field.items]
        : field.additionalProperties
          ? ['{', field.additionalProperties]
          : ['', field];
      const reference = referenceOf(inner);
      if (reference && isInterface(reference)) fields[camel(name)] = `${mark}${reference}`;
    }
  }
  return fields;
}

const queryOf = ({ parameters }) =>
  parameters.length === 0
    ? 'undefined'
    : `{ ${parameters.map(({ name, schema }) => `${camel(name)}?: ${typeOf(schema)} | undefined`).join('; ')} }`;

function routeOf(route) {
  const body = route.body ?? (route.bytesIn ? 'Uint8Array' : 'undefined');
  const answer = route.answer ?? 'Uint8Array';
  const types = `query: ${queryOf(route)}; body: ${body}; answer: ${answer}`;
  return `${comment(route.summary, '  ')}  '${route.name}': { ${types} };\n`;
}

/** Returns the source of `api.ts`. */
export function typescript({ routes, types, codes }) {
  const interfaces = new Set(types.filter(({ schema }) => !schema.enum).map(({ name }) => name));
  const nested = {};
  for (const { name, schema } of types) {
    if (!interfaces.has(name)) continue;
    nested[name] = nestedOf(schema, (reference) => interfaces.has(reference));
  }
  const rows = Object.entries(nested).map(([name, fields]) => `  ${name}: ${JSON.stringify(fields)},\n`);
  const kinds = routes.map(
    ({ name, body, answer }) =>
      `  '${name}': [${body ? `'${body}'` : 'undefined'}, ${answer ? `'${answer}'` : 'undefined'}],\n`,
  );
  return `// Written by \`sdks/api/generate.mjs\` from the OpenAPI document of a host. Do not edit.

${types.map(declarationOf).join('\n')}
/** The routes that the client uses. */
export interface Routes {
${routes.map(routeOf).join('')}}

/** The types of the body and the answer of each route, as far as they are JSON. */
export const routes: Record<keyof Routes, [body: string | undefined, answer: string | undefined]> = {
${kinds.join('')}};

/**
 * The fields of each type that hold other types: \`Type\`, \`[Type\` for a list, \`{Type\` for a map; \`...\` names a
 * base.
 */
export const nested: Record<string, Record<string, string>> = {
${rows.join('')}};

/** The stable codes of problems that the OpenAPI document names. */
export type ProblemCode =
${codes
  .map((code) => `  | '${code}'\n`)
  .join('')
  .trimEnd()};
`;
}
