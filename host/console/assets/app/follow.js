// Follows a durable stream from a place on: it connects again where it was, and stops at the end. A
// tab that nobody sees has no connection.

import { access, begin, withQuery } from './api.js';

/** Time until the next connection after one that worked, and after one that did not, in ms. */
const SOON_MS = 200;
const LATER_MS = 3000;

/**
 * Calls `onData(text)` with each piece of data, `onPlace(next, closed)` with the place after it,
 * `onState(away)` as connections come and go, and `onError(words)` for data that cannot be read.
 * Answers a function that ends it.
 */
export function followed(path, from, { onData, onPlace, onState, onError }) {
  let source = null;
  let place = from;
  let timer = 0;
  let ended = false;

  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  const stop = () => {
    ended = true;
    close();
    document.removeEventListener('visibilitychange', seen);
  };

  function open() {
    close();
    if (ended || document.hidden || access.get() === 'out') return;
    const opened = new EventSource(withQuery(path, { offset: place, live: 'sse' }));
    source = opened;
    let worked = false;
    // Data counts when the place after it is known: otherwise it comes again.
    let pending = [];
    opened.onopen = () => {
      worked = true;
      onState(false);
    };
    opened.addEventListener('data', (event) => pending.push(event.data));
    opened.addEventListener('control', (event) => {
      try {
        const { streamNextOffset: next, streamClosed: closed = false } = JSON.parse(event.data);
        pending.forEach(onData);
        pending = [];
        place = next;
        onPlace(next, closed);
        if (closed) stop();
      } catch (error) {
        onError(`What the host sent cannot be read: ${error.message}`);
        stop();
      }
    });
    opened.onerror = () => {
      close();
      // A connection that worked ends after a while by itself.
      if (!worked) onState(true);
      timer = setTimeout(again, worked ? SOON_MS : LATER_MS);
    };
  }

  /** The session may have ended. */
  async function again() {
    try {
      await begin();
    } catch {
      onState(true);
      timer = setTimeout(again, LATER_MS);
      return;
    }
    open();
  }

  function seen() {
    if (document.hidden) close();
    else open();
  }

  document.addEventListener('visibilitychange', seen);
  open();
  return stop;
}
