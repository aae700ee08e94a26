// What happens to each program from outside. `at` is in milliseconds from the start; `kill` ends the host with SIGKILL
// and starts it again.

/** Programs with what is sent to them, and the further journals that are compared. */
export const scenarios = [
  { program: 'sequence', steps: [{ at: 400, kill: true }] },
  { program: 'fan-out-all' },
  { program: 'race-sleep' },
  {
    program: 'named-signal-timeout',
    steps: [
      { at: 100, signal: 'other', value: 1 },
      { at: 200, kill: true },
      { at: 400, signal: 'approved', value: { by: 'ada' } },
    ],
  },
  {
    program: 'signal-race-loser',
    steps: [
      { at: 600, signal: 'go', value: 2 },
      { at: 700, signal: 'go', value: 3 },
    ],
  },
  {
    program: 'promise-timeout',
    steps: [
      { at: 500, resolve: 'answer', value: 42 },
      { at: 600, kill: true },
      { at: 700, reject: 'refused', code: 403, message: 'not you' },
    ],
  },
  { program: 'retry-then-fail' },
  { program: 'saga-undo' },
  { program: 'cancel-cleanup', input: 12, steps: [{ at: 300, cancel: true }] },
  { program: 'run-random', steps: [{ at: 100, kill: true }] },
  { program: 'object-counter', journals: ['object-counter/0', 'object-counter/1', 'object-counter/2'] },
  { program: 'object-promise', journals: ['object-promise/0', 'object-promise/2', 'object-promise/3'] },
  {
    program: 'query-update',
    steps: [
      { at: 200, update: 'bid', value: 100 },
      { at: 400, update: 'bid', value: 100 },
      { at: 500, query: 'highest' },
      { at: 600, kill: true },
      { at: 700, update: 'bid', value: 200 },
      { at: 900, query: 'highest' },
      { at: 1_000, update: 'close' },
    ],
  },
  { program: 'generation', input: 1, steps: [{ at: 100, signal: 'last', value: 'now' }], journals: ['generation/g/1', 'generation/g/2', 'generation/g/3'] },
  { program: 'child-send', journals: ['child-send/1', 'child-send/3'] },
  { program: 'http-step', input: 'server' },
  { program: 'host-failures', input: 'server' },
  {
    program: 'interleaving',
    needsIdleMachine: true,
    steps: [
      { at: 500, signal: 'go', value: 1 },
      { at: 600, kill: true },
      { at: 700, signal: 'go', value: 2 },
    ],
    journals: ['interleaving/24'],
  },
  { program: 'limits-labels' },
  { program: 'unhandled-defect', isDefect: true },
];
