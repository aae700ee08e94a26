// The engine of an attempt of an activity over the imports of the contract.

import * as activity from 'segno:workflow/activity@0.2.0';
import * as streams from 'segno:workflow/activity-streams@0.2.0';
import * as blobs from 'segno:workflow/blobs@0.2.0';
import * as configuration from 'segno:workflow/configuration@0.2.0';
import * as costs from 'segno:workflow/costs@0.2.0';
import * as files from 'segno:workflow/files@0.2.0';
import * as bodies from 'segno:workflow/http-bodies@0.2.0';
import type { AttemptEngine } from '../core/engine.js';
import { Code, Failure } from '../core/failure.js';

/** The clock of the engine, before anything replaced it. */
const clock = Date.now;

/** The host as the engine of the attempt that it performs. */
export const attemptEngine: AttemptEngine = {
  heartbeat: (progress) => activity.heartbeat(progress),
  openHttp: (request) => refusable(() => bodies.open(request)),
  readHttp: (response, limit) => refusable(() => bodies.read(response, limit)),
  closeHttp: (response) => bodies.close(response),
  log: (level, message) => activity.log(level, message),
  env: (name) => refusable(() => configuration.env(name)),
  secret: (name) => refusable(() => configuration.secret(name)),
  now: () => clock(),
  readFile: (path, offset, length) => refusable(() => files.read(path, offset, length)),
  writeFile: (path, content) => refusable(() => files.write(path, content)),
  appendFile: (path, content) => refusable(() => files.append(path, content)),
  listDirectory: (path) => refusable(() => files.listDirectory(path)).map((entry) => ({ ...entry, size: Number(entry.size) })),
  removeFile: (path) => refusable(() => files.remove(path)),
  keptOfStream: (name) => Number(refusable(() => streams.kept(name))),
  appendToStream: (name, contentType, item) => refusable(() => streams.append(name, contentType, item)),
  reportCost: (unit, millionths) => refusable(() => costs.report(unit, millionths)),
  createBlob: (contentType) => refusable(() => blobs.create(contentType)),
  writeBlob: (writer, piece) => refusable(() => blobs.write(writer, piece)),
  finishBlob: (writer) => refusable(() => blobs.finish(writer)),
  abandonBlob: (writer) => blobs.abandon(writer),
  readBlob: (reference, offset, length) => refusable(() => blobs.read(reference, offset, length)),
};

/** What the host refuses is thrown as a `Failure`: that of the contract is the payload of what QuickJS throws. */
function refusable<T>(call: () => T): T {
  try {
    return call();
  } catch (thrown) {
    const { code = Code.Unexpected, message = String(thrown) } = ((thrown as { payload?: object })?.payload ?? thrown) as { code?: number; message?: string };
    throw new Failure(code, message);
  }
}
