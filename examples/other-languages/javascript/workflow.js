// An offer for a basket of goods: prices asked for in parallel, a number drawn once, a pause in which the host may well be
// killed, and a total. And baskets, which are objects: each customer's is kept between calls.

import { Failure, module } from './segno.js';

const PRICES = { apple: 30, bread: 250, cheese: 800 };

async function offer({ goods, pause_ms: pause = 0 }, segno) {
  segno.log(`an offer for ${goods.length} goods`);
  const asked = goods.map((good) =>
    segno.call('price', { good }).catch((error) => {
      if (error.code !== 404) throw error;
      return null;
    }),
  );
  const number = await segno.run('number', () => Math.floor(Math.random() * 1_000_000));
  const prices = await Promise.all(asked);
  await segno.sleep(pause);
  return {
    number,
    total: prices.reduce((sum, price) => sum + (price ?? 0), 0),
    missing: goods.filter((_, place) => prices[place] === null),
    made_at: new Date().toISOString(),
  };
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

export const { functions, messages, objects } = module({
  workflows: {
    offer: {
      summary: 'Offers a basket of goods.',
      input: { type: 'object', properties: { goods, pause_ms: { type: 'integer', minimum: 0 } }, required: ['goods'] },
      run: offer,
    },
  },
  objects: {
    Basket: {
      add: { summary: 'Puts a good into the basket.', input: { type: 'string' }, run: add },
      total: { summary: 'What the basket costs.', shared: true, run: total },
    },
  },
  activities: {
    price: { summary: 'What one good costs.', retry: { initialMs: 50, maxAttempts: 5 }, run: price },
  },
});
