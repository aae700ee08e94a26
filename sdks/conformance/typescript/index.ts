// One module with all programs.

export * from './cancel-cleanup.ts';
export * from './child-send.ts';
export * from './fan-out-all.ts';
export * from './generation.ts';
export * from './graph-failure.ts';
export * from './graph-run.ts';
export * from './host-failures.ts';
export * from './http-step.ts';
export * from './interleaving.ts';
export * from './limits-labels.ts';
export * from './named-signal-timeout.ts';
export * from './object-counter.ts';
export * from './object-promise.ts';
export * from './promise-timeout.ts';
export * from './query-update.ts';
export * from './race-sleep.ts';
export * from './retry-then-fail.ts';
export * from './run-random.ts';
export * from './saga-undo.ts';
export * from './sequence.ts';
export * from './signal-race-loser.ts';
export * from './unhandled-defect.ts';
