import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { createReadStream, openAsBlob } from 'node:fs';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import {
  BlobDamagedError,
  type BlobReference,
  type Client,
  InvalidArgumentError,
  type SegnoError,
  UnexpectedAnswerError,
} from '../src/index.js';
import { Sha256, sha256 } from '../src/sha256.js';
import { answering } from './answering.js';
import { type Host, sharedHost } from './host.js';

const MEBIBYTE = 1 << 20;
const fresh = (name: string) => `${name}-${randomUUID()}`;
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

suite('blobs', () => {
  let client: Client;
  let host: Host;
  let folder: string;
  before(async () => {
    ({ client, host } = await sharedHost());
    folder = await mkdtemp(join(tmpdir(), 'segno-blobs-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  test('bytes and texts pass, and ranges are read', async () => {
    const id = fresh('order/1');
    const blob = await client.blobs.upload(id, new TextEncoder().encode('0123456789'));
    const digest = createHash('sha256').update('0123456789').digest('hex');
    assert.deepEqual(blob, {
      'segno:blob': `${id}/blob/${digest}`,
      bytes: 10,
      content_type: 'application/octet-stream',
    });
    assert.equal(await client.blobs.readText(blob), '0123456789');
    for (const [range, part] of [
      [{ offset: 2, length: 3 }, '234'],
      [{ offset: 8 }, '89'],
      [{ length: 1 }, '0'],
      [{ offset: 10 }, ''],
    ] as const)
      assert.equal(text(await client.blobs.read(blob, range)), part);
    for (const range of [{ offset: 9, length: 2 }, { offset: -1 }, { offset: 11 }, { length: Number.NaN }])
      await assert.rejects(client.blobs.read(blob, range), InvalidArgumentError);
    const note = await client.blobs.upload(id, 'é');
    assert.deepEqual([note.content_type, await client.blobs.readText(note)], ['text/plain; charset=utf-8', 'é']);
    const empty = await client.blobs.upload(id, '', { contentType: 'a/b' });
    assert.equal(await client.blobs.readText(empty), '');
    const { blobs } = await client.blobs.list(id);
    assert.deepEqual(
      blobs.map((one) => [one['segno:blob'], one.content_type, one.storedAtMs > 0]).sort(),
      [blob, note, empty].map((one) => [one['segno:blob'], one.content_type, true]).sort(),
    );
    await client.blobs.remove(blob);
    await assert.rejects(client.blobs.read(blob), { code: 'unknown-blob' });
  });

  test('files pass in both directions', async () => {
    const [source, copy] = [join(folder, 'scan.pdf'), join(folder, 'copy.pdf')];
    await writeFile(source, randomBytes(MEBIBYTE));
    const id = fresh('scan');
    const whole = await client.blobs.upload(id, await openAsBlob(source, { type: 'application/pdf' }));
    const contentType = 'application/pdf';
    const streamed = await client.blobs.upload(id, createReadStream(source), { contentType });
    const web = await client.blobs.upload(id, (await openAsBlob(source)).stream(), { contentType });
    assert.deepEqual([streamed, web], [whole, whole]);
    await writeFile(copy, client.blobs.pieces(whole));
    assert.ok((await readFile(copy)).equals(await readFile(source)));
  });

  test('large content passes in pieces', async () => {
    async function* pieces() {
      for (let n = 0; n < 200; n += 1) yield new Uint8Array(MEBIBYTE).fill(n);
    }
    const usage = () => process.resourceUsage().maxRSS >> 10;
    const beforeMiB = usage();
    const blob = await client.blobs.upload(fresh('large'), pieces(), { contentType: 'a/b' });
    assert.equal(blob.bytes, 200 * MEBIBYTE);
    let seen = 0;
    for await (const piece of client.blobs.pieces(blob)) seen += piece.length;
    assert.equal(seen, blob.bytes);
    const part = await client.blobs.read(blob, { offset: 7 * MEBIBYTE - 1, length: 2 });
    assert.deepEqual([...part], [6, 7]);
    const grown = usage() - beforeMiB;
    assert.ok(grown < 120, `${grown} MiB`);
    await client.blobs.remove(blob);
  });

  test('a reference is an input', async () => {
    const document = await client.blobs.upload(fresh('input'), ['some ', 'text'], { contentType: 'text/plain' });
    const promise = await client.createPromise({ id: fresh('holds'), param: { document } });
    const { param } = await promise.status();
    assert.equal(await client.blobs.readText((param as { document: BlobReference }).document), 'some text');
  });

  test('damage is found on both sides', async () => {
    for (const size of [9, 5 * MEBIBYTE]) {
      const id = fresh('damaged');
      const content = new Uint8Array(size).fill(7);
      const blob = await client.blobs.upload(id, content);
      const place = join(host.folder, 'blobs', id, blob['segno:blob'].slice(-64));
      content[0] = 8;
      await writeFile(join(place, (await readdir(place))[0] as string), content);
      await assert.rejects(client.blobs.read(blob), { code: 'blob-damaged' });
    }
    const wrong = { 'segno:blob': `a/blob/${'0'.repeat(64)}`, bytes: 3, content_type: 'a/b' };
    const { client: misled } = await answering((_, __, response) => {
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify(wrong));
    });
    for (const content of ['abc', ['abc']]) await assert.rejects(misled.blobs.upload('a', content), BlobDamagedError);
  });

  test('a broken download goes on where it ended', async () => {
    const content = Uint8Array.from({ length: 200 }, (_, at) => at);
    const asked: (string | undefined)[] = [];
    const { client: reader } = await answering((_, request, response) => {
      asked.push(request.headers.range);
      const rest = content.subarray(Number(/=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0));
      response.writeHead(request.headers.range ? 206 : 200, { 'content-length': rest.length });
      response.write(rest.subarray(0, 70));
      setTimeout(() => (rest.length > 70 ? response.destroy() : response.end()), 50);
    });
    assert.deepEqual(await reader.blobs.read(reference(content)), content);
    assert.deepEqual(asked, [undefined, 'bytes=70-199', 'bytes=140-199']);
  });

  test('answers that are no range or too short are refused', async () => {
    const { client: reader } = await answering((_, __, response) => response.end('01234'));
    for (const offset of [0, 2])
      await assert.rejects(
        reader.blobs.read(reference(new TextEncoder().encode('0123456789')), { offset }),
        UnexpectedAnswerError,
      );
  });

  test('what is no content and no reference is refused', async () => {
    await assert.rejects(client.blobs.upload('a', [1] as never), InvalidArgumentError);
    for (const wrong of [{}, undefined, { 'segno:blob': 'a', bytes: 1 }])
      await assert.rejects(client.blobs.read(wrong as never), InvalidArgumentError);
    const broken = fresh('broken');
    async function* pieces() {
      yield 'one';
      throw new RangeError('gone');
    }
    await assert.rejects(client.blobs.upload(broken, pieces()), RangeError);
    assert.deepEqual((await client.blobs.list(broken)).blobs, []);
    const controller = new AbortController();
    const large = await client.blobs.upload(broken, new Uint8Array(9 * MEBIBYTE));
    await assert.rejects(
      async () => {
        for await (const _ of client.blobs.pieces(large, { signal: controller.signal })) controller.abort();
      },
      (error: SegnoError) => error.name === 'AbortError',
    );
  });

  test('the hash in JavaScript is that of Node', () => {
    for (const length of [0, 1, 55, 56, 63, 64, 65, 1_000, 100_001]) {
      const bytes = randomBytes(length);
      const hash = new Sha256();
      hash.update(bytes.subarray(0, 37));
      hash.update(bytes.subarray(37));
      assert.deepEqual(Buffer.from(hash.digest()), createHash('sha256').update(bytes).digest(), `${length}`);
    }
    assert.ok(!(sha256() instanceof Sha256), 'Node has a faster one');
  });
});

function reference(content: Uint8Array): BlobReference {
  const digest = createHash('sha256').update(content).digest('hex');
  return { 'segno:blob': `a/blob/${digest}`, bytes: content.length, content_type: 'a/b' };
}
