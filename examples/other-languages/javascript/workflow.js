// An offer for a basket of goods: prices asked for in parallel, a number drawn once, a pause in which the host may well be
// killed, and a total. While it is made, the offer can be asked for its step, and told to be cheaper. And baskets, which are
// objects: each customer's is kept between calls.

import { Failure, module } from './segno.js';

const PRICES = { apple: 30, bread: 250, cheese: 800 };

async function offer({ goods, pause_ms: pause = 0 }, segno) {
  segno.log(`an offer for ${goods.length} goods`);
  const progress = segno.share({ step: 'asks for prices', discount: 0 });
  const asked = goods.map((good) =>
    segno.call('price', { good }).catch((error) => {
      if (error.code !== 404) throw error;
      return null;
    }),
  );
  const number = await segno.run('number', () => Math.floor(Math.random() * 1_000_000));
  const prices = await Promise.all(asked);
  progress.step = 'waits';
  await segno.sleep(pause);
  await segno.updatesDone();
  progress.step = 'is made';
  return {
    number,
    total: prices.reduce((sum, price) => sum + (price ?? 0), 0) - progress.discount,
    missing: goods.filter((_, place) => prices[place] === null),
    made_at: new Date().toISOString(),
  };
}

// A query: it only reads what the offer shares.
const step = (progress) => progress.step;

// An update is a part of the offer, which runs beside it.
async function discount(cents, segno, progress) {
  await segno.sleep(100);
  progress.discount += cents;
  return progress.discount;
}

// Asked before an update is accepted; one that is refused leaves no trace.
function affordable(progress, cents) {
  if (progress.discount + cents > 100) throw new Failure(422, `${progress.discount} off is enough`);
}

function price({ good }, { attempt }) {
  if (good === 'cheese' && attempt === 1) throw new Error('the cheese counter does not answer yet');
  if (!(good in PRICES)) throw new Failure(404, `there is no ${good}`);
  return PRICES[good];
}

const goods = { type: 'array', items: { type: 'string' } };

// One execution of a basket at a time: none is lost between reading and writing.
async function add(good, segno) {
  if (!(good in PRICES)) throw new Failure(404, `there is no ${good}`);
  const goods = [...((await segno.state.get('goods')) ?? []), good];
  segno.state.set('goods', goods);
  return goods.length;
}

async function total(_, segno) {
  const goods = (await segno.state.get('goods')) ?? [];
  return { of: segno.key, total: goods.reduce((sum, good) => sum + PRICES[good], 0) };
}

// A delivery is made once for each basket. Who takes it signs for it, whether the delivery waits for that yet or not.
async function deliver(to, segno) {
  segno.state.set('to', to);
  return { to, by: await segno.promiseOf('signed').wait() };
}

const sign = (by, segno) => segno.promiseOf('signed').resolve(by);

async function delivery(_, segno) {
  return { to: await segno.state.get('to'), by: (await segno.promiseOf('signed').peek()) ?? null };
}

export const { functions, messages, objects, runs, handlers, limits, commits, exposures } = module({
  workflows: {
    offer: {
      summary: 'Offers a basket of goods.',
      expose: 'mcp',
      input: { type: 'object', properties: { goods, pause_ms: { type: 'integer', minimum: 0 } }, required: ['goods'] },
      run: offer,
      queries: { step: { summary: 'Which step it is at.', output: { type: 'string' }, run: step } },
      updates: {
        discount: {
          summary: 'Makes it cheaper, and says how much cheaper it is in all.',
          input: { type: 'integer', minimum: 1 },
          output: { type: 'integer' },
          run: discount,
          validate: affordable,
        },
      },
    },
  },
  objects: {
    Basket: {
      add: { summary: 'Puts a good into the basket.', input: { type: 'string' }, run: add },
      total: { summary: 'What the basket costs.', shared: true, run: total },
    },
    Delivery: {
      deliver: { summary: 'Delivers a basket, once.', input: { type: 'string' }, once: true, run: deliver },
      sign: { summary: 'Signs for it.', input: { type: 'string' }, shared: true, run: sign },
      status: { summary: 'Where it is to go, and who signed.', shared: true, run: delivery },
    },
  },
  activities: {
    price: {
      summary: 'What one good costs.',
      retry: { initialMs: 50, maxAttempts: 5 },
      // The counter serves so many at a time.
      limit: { key: 'good', concurrency: 10, rate: '50/s', totalConcurrency: 40 },
      run: price,
    },
  },
});
