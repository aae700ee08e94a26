// One module with all programs.

export * from './activities.ts';
export * from './calls.ts';
export * from './cancel.ts';
export * from './errors.ts';
export * from './generations.ts';
export * from './graphs.ts';
export * from './handlers.ts';
export * from './http.ts';
export * from './objects.ts';
export * from './promises.ts';
export * from './runs.ts';
export * from './sagas.ts';
export * from './signals.ts';
export * from './streams.ts';
export * from './time.ts';
export * from './values.ts';
