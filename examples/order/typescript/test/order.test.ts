// The order against a payment service that keeps a ledger, as a real one does.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '@segno/sdk';
import { TestHost } from '@segno/sdk/testing';
import * as shop from '../src/index.js';

const PAYMENTS = 'http://payments.test';

const ORDER = {
  id: 'o-1',
  items: [
    { sku: 'hat', quantity: 1, price_cents: 2_500 },
    { sku: 'glove', quantity: 2, price_cents: 900 },
  ],
  payments: PAYMENTS,
  approve_within_s: 3 * 24 * 3_600,
};

/** Charges and refunds by idempotency key. */
class Ledger {
  readonly #entries = new Map<string, { path: string; body: unknown }>();

  /** Answers the test's requests. The first `failures` responses are lost: the request was entered, and fails. */
  serve(host: TestHost, { accepted = true, failures = 0 } = {}): this {
    for (const path of ['charges', 'refunds']) {
      host.onHttp('POST', `${PAYMENTS}/${path}`, ({ headers, body }) => {
        const key = headers['idempotency-key'];
        assert.ok(key, 'the host adds a key');
        if (!this.#entries.has(key)) this.#entries.set(key, { path, body: JSON.parse(body ?? '') });
        if (failures-- > 0) return { status: 503, body: 'come back later' };
        return { json: { charge: `charge-${key}`, accepted } };
      });
    }
    return this;
  }

  get charges(): unknown[] {
    return this.#bodies('charges');
  }

  get refunds(): unknown[] {
    return this.#bodies('refunds');
  }

  #bodies(path: string): unknown[] {
    return [...this.#entries.values()].filter((entry) => entry.path === path).map((entry) => entry.body);
  }
}

const failsWith = (code: number) => (error: unknown) => error instanceof Failure && error.code === code;

test('an approved order is charged once and shipped', async () => {
  const host = new TestHost({ module: shop });
  const ledger = new Ledger().serve(host, { failures: 2 });
  host.promise('approval').after('1h').resolve(true);

  assert.deepEqual(await host.run(shop.order, ORDER), {
    order: 'o-1',
    charge: 'charge-test/charge',
    amount_cents: 4_300,
    shipments: ['parcel-test/3', 'parcel-test/4'],
  });
  assert.equal(host.requests.length, 3, 'two answers were lost');
  assert.deepEqual(ledger.charges, [{ order: 'o-1', amount_cents: 4_300 }]);
  assert.deepEqual(ledger.refunds, []);
  assert.deepEqual(host.calls(shop.release), []);
});

/** Checks that the charge was refunded and the stock released, each once. */
function assertUndone(host: TestHost, ledger: Ledger): void {
  assert.equal(ledger.charges.length, 1);
  assert.deepEqual(ledger.refunds, [{ charge: 'charge-test/charge' }]);
  assert.deepEqual(host.calls(shop.release), ['reservation-test']);
}

const refusals: [string, number, (host: TestHost) => unknown][] = [
  ['is refused', 409, (host) => host.promise('approval').resolve(false)],
  ['is rejected', 403, (host) => host.promise('approval').reject(new Failure(403, 'not this customer'))],
  ['is cancelled', 499, (host) => host.cancelAfter('1m')],
  ['nobody approves in time', 408, () => undefined],
];
for (const [name, code, refuse] of refusals) {
  test(`an order that ${name} is undone`, async () => {
    const host = new TestHost({ module: shop });
    const ledger = new Ledger().serve(host);
    refuse(host);
    await assert.rejects(host.run(shop.order, ORDER), failsWith(code));
    assert.deepEqual(host.calls(shop.ship), []);
    assertUndone(host, ledger);
  });
}

test('an order that cannot be shipped is undone', async () => {
  const host = new TestHost({ module: shop });
  const ledger = new Ledger().serve(host);
  host.promise('approval').resolve(true);
  host.on(shop.ship, (item) => {
    if (item.sku === 'glove') throw new Failure(410, 'the carrier went out of business');
    return 'parcel';
  });
  await assert.rejects(host.run(shop.order, ORDER), failsWith(410));
  assertUndone(host, ledger);
});

test('an order that is cancelled while the stock is reserved is not charged', async () => {
  const host = new TestHost({ module: shop });
  const ledger = new Ledger().serve(host);
  host.on(shop.reserve, () => {
    throw new Failure(500, 'the warehouse does not answer');
  });
  host.cancelAfter(50);
  await assert.rejects(host.run(shop.order, ORDER), failsWith(499));
  assert.deepEqual(host.calls(shop.release), ['reservation-test']);
  assert.deepEqual(ledger.charges, []);
});

test('an order that is cancelled while it is charged gets its money back', async () => {
  const host = new TestHost({ module: shop });
  const ledger = new Ledger().serve(host, { failures: 1 });
  host.cancelAfter(50);
  await assert.rejects(host.run(shop.order, ORDER), failsWith(499));
  assertUndone(host, ledger);
});

test('a declined payment releases the stock', async () => {
  const host = new TestHost({ module: shop });
  const ledger = new Ledger().serve(host, { accepted: false });
  await assert.rejects(host.run(shop.order, ORDER), failsWith(402));
  assert.deepEqual(host.calls(shop.release), ['reservation-test']);
  assert.deepEqual(ledger.refunds, []);
});

test('what is sold out is not charged', async () => {
  const host = new TestHost({ module: shop });
  const ledger = new Ledger().serve(host);
  const [hat, ...others] = ORDER.items;
  await assert.rejects(
    host.run(shop.order, { ...ORDER, items: [{ ...hat!, sku: 'sold-out' }, ...others] }),
    failsWith(409),
  );
  assert.deepEqual(ledger.charges, []);
});
