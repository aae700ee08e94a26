import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type as ark } from 'arktype';
import assert from 'node:assert/strict';
import test from 'node:test';
import * as v from 'valibot';
import { z } from 'zod';
import { jsonSchemaOf, validated } from '../dist/core/schema.js';
import { activity, json, query, type, update, withJsonSchema, workflow } from '../dist/index.js';
import { misfit } from '../dist/testing/json-schema.js';
import { TestHost } from '../dist/testing/index.js';

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

test('the test kit checks every keyword of a JSON schema that a host checks', () => {
  const misfits = [
    [{ minimum: 1 }, 0, /0 is less than 1/],
    [{ type: 'integer' }, 1.5, /"integer"/],
    [{ pattern: '^a' }, 'b', /does not match pattern/],
    [{ maxLength: 1 }, 'ab', /too long/],
    [{ additionalProperties: false, properties: { a: true } }, { b: 1 }, /at \/b: /],
    [{ oneOf: [{ type: 'string' }, { minLength: 1 }] }, 'a', /exactly one/],
    [{ not: { type: 'null' } }, null, /not/i],
    [{ $ref: '#/$defs/a', $defs: { a: { const: 1 } } }, 2, /match/i],
    [{ prefixItems: [{ type: 'string' }], uniqueItems: true }, ['a', 'a'], /duplicate/i],
    [{ properties: { format: { type: 'string' } } }, { format: 1 }, /at \/format: /],
    [{ items: { properties: { 'a b': { enum: [1] } } } }, [{ 'a b': 2 }], /at \/0\/a b: /],
    [{ if: { type: 'string' }, then: { minLength: 2 } }, 'a', /then|short/i],
    [false, 1, /false/i],
  ];
  for (const [schema, value, said] of misfits) assert.match(misfit(json(schema), value) ?? 'it fits', said, JSON.stringify(schema));
  assert.equal(misfit(json({ type: 'string', format: 'email' }), 'no address'), undefined, 'a host does not check formats');
  assert.match(misfit(json({ $schema: 'http://json-schema.org/draft-07/schema#', format: 'email' }), 'no address'), /format/);
  assert.equal(misfit(type(), 1), undefined);
  assert.match(misfit(z.coerce.number(), '5'), /"number"/, 'the schema of a library, which would take the text');
});

test('what is sent to a workflow in a test is checked against its schemas', async () => {
  const Cents = json({ type: 'integer', minimum: 1 });
  const order = workflow(
    {
      promises: { amount: Cents },
      signals: { paid: Cents },
      shared: () => 0,
      queries: { times: query({ input: Cents }, (shared, n) => shared * n) },
      updates: { add: update({ input: Cents }, (shared, n) => n) },
    },
    async (_, ctx) => {
      await assert.rejects(ctx.sendSignal(ctx.id, 'paid', 0), /the signal `paid` to `order` of `test` does not fit its schema: 0 is less than 1/);
      return ctx.promise('amount');
    },
  );
  const charge = activity({ input: Cents }, async (n) => n);
  const t = () => new TestHost({ module: { order, charge } });
  let host = t();
  host.promise('amount').resolve(0);
  await assert.rejects(host.run(order), /the value of promise `amount` does not fit its schema: 0 is less than 1/);
  host = t();
  host.promise('amount').after('1s').resolve(7);
  const refused = [host.update(order, 'add', 0), host.query(order, 'times', 0)];
  assert.equal(await host.run(order), 7);
  for (const ask of refused) await assert.rejects(async () => ask.answer(), /the input of (update `add`|query `times`) does not fit its schema: 0 is less than 1/);
  await assert.rejects(t().run(charge, 0), /the input does not fit the schema of `charge`: 0 is less than 1/);
});
