// A workflow and an activity to begin with: change them, or replace them.

import { Failure, module } from './segno.js';

// Mails a code to an address, and ends when it is confirmed.
//
// All that a workflow asks for is in a journal, from which it goes on after the death of its host.
// So time, random numbers and everything from outside come through `ctx`, and whatever has an
// effect is an activity.
async function signup(email, ctx) {
  // The same number in every replay.
  const code = String(Math.floor(ctx.random() * 1_000_000)).padStart(6, '0');
  await ctx.call('send_mail', [email, code]);
  // Settled from outside, perhaps next week.
  const confirmed = await ctx.promise('confirmed').settled;
  return `${email} is ${confirmed ? 'confirmed' : 'refused'}`;
}

// Sends a mail: real I/O (`await ctx.http({ method, url, body })`), retried.
//
// It may run more than once, so pass `ctx.idempotencyKey` to whatever must act only once.
async function sendMail([to, text], ctx) {
  if (!to.includes('@')) {
    // Final: repeating this will not help. Codes 500 and above are tried again.
    throw new Failure(422, `\`${to}\` is no mail address`);
  }
  console.log(`mail to ${to}: ${text}`);
}

// What the module offers. A function that is not in the list cannot be called. Schemas are JSON
// schemas: what does not fit is refused to who sends it.
const text = { type: 'string' };
export const { functions, messages } = module({
  workflows: {
    signup: {
      summary: 'Mails a code to an address, and ends when it is confirmed.',
      input: text,
      promises: { confirmed: { type: 'boolean' } },
      run: signup,
    },
  },
  activities: {
    send_mail: {
      summary: 'Sends a mail.',
      input: { type: 'array', prefixItems: [text, text], minItems: 2 },
      timeoutMs: 60_000,
      retry: { initialMs: 1000, maxAttempts: 10 },
      run: sendMail,
    },
  },
});
