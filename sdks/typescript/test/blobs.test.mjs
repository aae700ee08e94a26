import assert from 'node:assert/strict';
import test from 'node:test';
import { Failure, activity, blobReference, workflow } from '../dist/index.js';
import { TestHost } from '../dist/testing/index.js';

const render = activity((pages, ctx) => ctx.blobs.write(Array.from({ length: pages }, (_, page) => `page ${page}\n`), { contentType: 'text/plain' }));
const count = activity({ input: blobReference }, (document, ctx) => {
  let lines = 0;
  for (const piece of ctx.blobs.pieces(document)) lines += piece.filter((byte) => byte === 10).length;
  return lines;
});
const publish = workflow(async (pages, ctx) => {
  const document = await ctx.call(render, pages);
  return { document, lines: await ctx.call(count, document) };
});

test('a reference passes from an activity to another', async () => {
  const t = new TestHost();
  const { document, lines } = await t.run(publish, 3);
  assert.equal(lines, 3);
  assert.deepEqual({ ...document, 'segno:blob': '' }, { 'segno:blob': '', bytes: 21, content_type: 'text/plain' });
  assert.match(document['segno:blob'], /^test\/blob\/[0-9a-f]{64}$/);
  assert.equal(new TextDecoder().decode(t.blobContent(document)), 'page 0\npage 1\npage 2\n');
});

test('texts, bytes and asynchronous pieces are written, and read in parts', async () => {
  const write = activity(async (kind, ctx) => {
    async function* pieces() {
      yield 'a';
      yield Uint8Array.of(98);
    }
    switch (kind) {
      case 'text':
        return ctx.blobs.write('grüß');
      case 'bytes':
        return ctx.blobs.write(new Uint8Array(3_000_000).fill(7));
      default:
        return ctx.blobs.writeFrom(pieces());
    }
  });
  const writes = workflow((kind, ctx) => ctx.call(write, kind));
  for (const [kind, type, content] of [
    ['text', 'text/plain; charset=utf-8', new TextEncoder().encode('grüß')],
    ['bytes', 'application/octet-stream', new Uint8Array(3_000_000).fill(7)],
    ['async', 'application/octet-stream', Uint8Array.of(97, 98)],
  ]) {
    const t = new TestHost();
    const blob = await t.run(writes, kind);
    assert.deepEqual([blob.content_type, blob.bytes], [type, content.length]);
    assert.deepEqual(t.blobContent(blob), content);
  }
  const read = activity((blob, ctx) => [ctx.blobs.readText(blob), new TextDecoder().decode(ctx.blobs.read(blob, { offset: 2, length: 3 }))]);
  const t = new TestHost();
  const reads = workflow((blob, ctx) => ctx.call(read, blob));
  assert.deepEqual(await t.run(reads, t.blob('0123456789', 'text/plain')), ['0123456789', '234']);
});

test('what a host would refuse fails', async () => {
  const cases = [
    [(ctx) => ctx.blobs.write('', { contentType: 'nonsense' }), 400, /`nonsense`/],
    [(ctx) => ctx.blobs.read({ 'segno:blob': 'x/blob/00', bytes: 1, content_type: 'a/b' }), 404, /there is no blob `x\/blob\/00`/],
    [(ctx) => ctx.blobs.read('x'), 400, /no reference of a blob/],
    [
      (ctx) => {
        const writer = ctx.blobs.create();
        writer.abandon();
        writer.finish();
      },
      400,
      /not open/,
    ],
  ];
  for (const [run, code, message] of cases) {
    const fails = activity((_, ctx) => void run(ctx));
    const calls = workflow((_, ctx) => ctx.call(fails));
    await assert.rejects(new TestHost().run(calls), (error) => error instanceof Failure && error.code === code && message.test(error.message));
  }
});
