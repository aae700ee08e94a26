// The runtime of JavaScript modules: QuickJS, and the contract for the bundles that it loads.

import * as activity from 'segno:workflow/activity@0.2.0';
import * as activityStreams from 'segno:workflow/activity-streams@0.2.0';
import * as blobs from 'segno:workflow/blobs@0.2.0';
import * as configuration from 'segno:workflow/configuration@0.2.0';
import * as costs from 'segno:workflow/costs@0.2.0';
import * as files from 'segno:workflow/files@0.2.0';
import * as generations from 'segno:workflow/generations@0.2.0';
import * as httpBodies from 'segno:workflow/http-bodies@0.2.0';
import * as journal from 'segno:workflow/journal@0.2.0';
import * as objectPromises from 'segno:workflow/object-promises@0.2.0';
import * as sagas from 'segno:workflow/sagas@0.2.0';
import * as signals from 'segno:workflow/signals@0.2.0';
import * as state from 'segno:workflow/state@0.2.0';
import * as streams from 'segno:workflow/streams@0.2.0';

// A bundle takes its imports from here, by the names of the interfaces.
globalThis.segnoContract = {
  activity,
  'activity-streams': activityStreams,
  blobs,
  configuration,
  costs,
  files,
  generations,
  'http-bodies': httpBodies,
  journal,
  'object-promises': objectPromises,
  sagas,
  signals,
  state,
  streams,
};

// The exports of the bundle. A bundle of an older shim lacks those that came later.
let module = {};

export const loader = {
  load(sources) {
    try {
      for (const [, content] of sources) (0, eval)(text(content));
    } catch (error) {
      throw told(error);
    }
    module = globalThis.segnoModule;
    wipe(sources.reduce((bytes, [, content]) => bytes + content.length, 0));
    if (!module?.functions) {
      throw 'the source exports no `functions`: end it with `export const { functions, messages, objects, runs, handlers, limits, commits, exposures } = module({ workflows, activities });`';
    }
  },
};

// Overwrites what loading these bytes has freed: copies of the sources, about eight times as long. Zeros are no part of the
// memory with which a module begins.
function wipe(bytes) {
  const zeros = [];
  const fill = (bytes, size) => {
    for (let left = bytes; left > 0; left -= size) zeros.push(new ArrayBuffer(size));
  };
  try {
    fill(6 * bytes, 65536);
    fill(2 * bytes, 16384);
  } catch {
    // The memory is full: more is not overwritten.
  }
}

// An error with the lines of the sources, by the table at the beginning of the bundle.
function told(error) {
  const frames = String(error?.stack ?? '').split('\n').map(inSource).filter(Boolean);
  return [String(error), ...frames].join('\n');
}

function inSource(frame) {
  const [, at, line, column] = /^(.*?)[(]?[^ (]*:([0-9]+):([0-9]+)[)]?$/.exec(frame) ?? [];
  const { sources, lines, packed } = globalThis.segnoLines ?? {};
  if (at === undefined || !sources) return undefined;
  const entries = lines?.[line - 1] ?? unpacked(packed?.split('\n')[line - 1] ?? '');
  const [, source, sourceLine] = entries.filter(([from]) => from < column).pop() ?? [];
  return source === undefined ? undefined : `${at}(${sources[source]}:${sourceLine})`;
}

const unpacked = (entries) => entries.split(' ').filter(Boolean).map((entry) => entry.split(',').map(Number));

// UTF-8, for an engine without `TextDecoder`.
function text(bytes) {
  let escaped = '';
  for (const byte of bytes) escaped += byte < 128 && byte !== 37 ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, '0')}`;
  return decodeURIComponent(escaped);
}

export const functions = {
  describe: () => module.functions?.describe() ?? [],
  start: (name, input, context) => module.functions.start(name, input, context),
  resume: (event) => module.functions.resume(event),
  perform: (name, input, context) => module.functions.perform(name, input, context),
};
export const messages = { describeMessages: () => module.messages?.describeMessages() ?? [] };
export const objects = { describeObjects: () => module.objects?.describeObjects() ?? [] };
export const runs = { describeRuns: () => module.runs?.describeRuns() ?? [] };
export const limits = { describeLimits: () => module.limits?.describeLimits() ?? [] };
export const commits = { describeCommits: () => module.commits?.describeCommits() ?? [] };
export const exposures = { describeExposures: () => module.exposures?.describeExposures() ?? [] };
export const handlers = {
  describeHandlers: () => module.handlers?.describeHandlers() ?? [],
  query: (name, input) => module.handlers.query(name, input),
  validate: (name, input) => module.handlers.validate(name, input),
};
