// States of invocations and promises, as words with a colour.

import { html } from './dom.js';

/** All states of invocations, in the order in which they are passed through. */
export const STATES = ['pending', 'acquired', 'suspended', 'halted', 'resolved', 'rejected', 'cancelled', 'timed-out'];

const TONES = {
  pending: 'wait',
  acquired: 'run',
  suspended: 'wait',
  halted: 'warn',
  resolved: 'good',
  rejected: 'bad',
  cancelled: 'off',
  'timed-out': 'bad',
  // Nodes of graphs.
  ready: 'wait',
  running: 'run',
  waiting: 'warn',
  completed: 'good',
  skipped: 'off',
  failed: 'bad',
  'not-run': 'off',
};

/** The tone of a state: `wait`, `run`, `warn`, `good`, `bad`, or `off`. */
export const tone = (state) => TONES[state] || 'off';

export const isEnded = (state) => ['resolved', 'rejected', 'cancelled', 'timed-out'].includes(state);

export const stateName = (state, killed) => (killed ? 'killed' : state);

export const State = ({ state, killed }) =>
  html`<span class=${`state ${tone(state)}`}><i aria-hidden="true"></i>${stateName(state, killed)}</span>`;
