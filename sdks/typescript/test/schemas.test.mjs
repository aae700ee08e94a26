import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type as ark } from 'arktype';
import assert from 'node:assert/strict';
import test from 'node:test';
import * as v from 'valibot';
import { z } from 'zod';
import { jsonSchemaOf, validated } from '../dist/core/schema.js';
import { json, type, withJsonSchema } from '../dist/index.js';

const libraries = {
  zod: z.object({ items: z.array(z.object({ price: z.number() })) }),
  arktype: ark({ items: [{ price: 'number' }, '[]'] }),
  valibot: toStandardJsonSchema(v.object({ items: v.array(v.object({ price: v.number() })) })),
};

for (const [library, schema] of Object.entries(libraries)) {
  test(`a schema of ${library} gives a JSON schema, and names what does not fit by its path`, () => {
    const written = jsonSchemaOf(schema, 'input', 'the input');
    assert.equal(written.properties.items.items.properties.price.type, 'number');
    assert.deepEqual(validated(schema, { items: [{ price: 1 }] }, 'the input'), { items: [{ price: 1 }] });
    assert.throws(
      () => validated(schema, { items: [{ price: 1 }, { price: 'x' }] }, 'the input of `f`'),
      (error) => error.code === 400 && /^the input of `f` does not fit: `items\[1\]\.price`: /.test(error.message) && error.details.issues[0].path.join('/') === 'items/1/price',
    );
  });
}

test('a schema without a JSON schema says how to get one', () => {
  assert.throws(() => jsonSchemaOf(v.string(), 'input', 'the input of `f`'), /the input of `f` is a schema of valibot.*toStandardJsonSchema.*@valibot\/to-json-schema/);
  assert.throws(() => jsonSchemaOf(z.date(), 'input', 'the input of `f`'), /the input of `f` cannot be written as a JSON schema/);
  assert.throws(() => jsonSchemaOf({ '~standard': { version: 1, vendor: 'other', validate() {} } }, 'input', 'it'), /withJsonSchema/);
  assert.throws(() => jsonSchemaOf({ type: 'string' }, 'input', 'it'), /it is no schema: pass one of zod, valibot or arktype, `json\(/);
  const dated = withJsonSchema(z.string(), { type: 'string', format: 'date' });
  assert.equal(jsonSchemaOf(dated, 'input', 'it').format, 'date');
  assert.throws(() => validated(dated, 1, 'it'), /it does not fit/);
});

test('plain JSON schemas and bare types', () => {
  assert.deepEqual(jsonSchemaOf(json({ type: 'integer' }), 'input', 'it'), { type: 'integer' });
  assert.equal(jsonSchemaOf(type(), 'input', 'it'), undefined);
  assert.equal(validated(json({ type: 'integer' }), 'x', 'it'), 'x', 'the host looks at it');
  assert.throws(() => json('string'), /takes a JSON schema/);
});

test('what a schema makes of a value is what the function gets', async () => {
  const schema = z.object({ n: z.coerce.number(), note: z.string().default('none') });
  assert.deepEqual(validated(schema, { n: '5' }, 'it'), { n: 5, note: 'none' });
  const slow = z.string().refine(async (text) => text === 'yes', 'is not yes');
  assert.equal(await validated(slow, 'yes', 'it'), 'yes');
  await assert.rejects(async () => validated(slow, 'no', 'it'), /is not yes/);
});
