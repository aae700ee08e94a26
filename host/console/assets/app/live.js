// What changes on the host, told by its stream of changes. A tab that nobody sees has no stream: a
// browser opens only a few connections to one host, and a host that nobody looks at does nothing.

import { useEffect, useRef } from './dom.js';
import { access, begin, reachable, withQuery } from './api.js';
import { shared } from './value.js';

/** `connecting`, `live`, or `away`. */
export const stream = shared('connecting');

/** How long after a failed stream another one is tried, in ms. */
const AGAIN_MS = 5000;
/** What is read again without having been told: what other hosts of the same database change. */
const SAFETY_MS = 20_000;

let source = null;
let watched = null;
let retry = 0;
const listeners = new Set();

const tell = (changed) => {
  for (const listener of [...listeners]) listener(changed);
};

function close() {
  clearTimeout(retry);
  source?.close();
  source = null;
}

function open() {
  close();
  if (watched === null || document.hidden || access.get() === 'out') return;
  const opened = new EventSource(withQuery('/v1/stream', { id: watched }));
  source = opened;
  let wasOpen = false;
  opened.onopen = () => {
    stream.set('live');
    // What happened before is not told.
    if (wasOpen || !reachable.get()) tell({ ids: [], missed: true });
    reachable.set(true);
    wasOpen = true;
  };
  opened.addEventListener('changed', (event) => {
    const changed = JSON.parse(event.data);
    tell({ ids: changed.ids, missed: Boolean(changed.missed) });
  });
  opened.onerror = () => {
    stream.set('away');
    close();
    retry = setTimeout(again, AGAIN_MS);
  };
}

/** The session may have ended; or the host went away, and is back. */
async function again() {
  try {
    await begin();
    if (access.get() !== 'out') {
      tell({ ids: [], missed: true });
      open();
    }
  } catch {
    retry = setTimeout(again, AGAIN_MS);
  }
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    close();
  } else if (watched !== null) {
    tell({ ids: [], missed: true });
    open();
  }
});

/**
 * Calls `listener` with `{ids, missed}` for what changes: of the invocation `id` and below it, or, for
 * '', of all. Each page has one stream. It is also called every 20 s, with nothing.
 */
export function useChanges(id, listener) {
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => {
    const call = (changed) => latest.current(changed);
    listeners.add(call);
    watched = id;
    open();
    const safety = setInterval(() => {
      if (!document.hidden && reachable.get()) call({ ids: [], missed: false });
    }, SAFETY_MS);
    return () => {
      listeners.delete(call);
      clearInterval(safety);
      if (!listeners.size) {
        watched = null;
        close();
      }
    };
  }, [id]);
}

/** Calls `action` at most once in so many ms, and once more at the end of them if it was asked for. */
export function throttled(action, ms) {
  let timer = 0;
  let wanted = false;
  const run = () => {
    timer = 0;
    if (!wanted) return;
    wanted = false;
    timer = setTimeout(run, ms);
    action();
  };
  return () => {
    wanted = true;
    if (!timer) run();
  };
}
