// Reading something for a component: what was read stays shown while it is read again.

import { useCallback, useLayoutEffect, useRef, useState } from './dom.js';

/** `{data, error, reading, again}` of what `read(signal)` answers, anew when `inputs` change. */
export function useRead(read, inputs) {
  const [state, setState] = useState({ data: undefined, error: null, reading: true });
  const latest = useRef(read);
  latest.current = read;
  const running = useRef(null);
  const again = useCallback(async () => {
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    try {
      const data = await latest.current(abort.signal);
      if (!abort.signal.aborted) setState({ data, error: null, reading: false });
    } catch (error) {
      if (!abort.signal.aborted) setState((was) => ({ ...was, error, reading: false }));
    }
  }, []);
  // Asked before the first picture is painted, which takes as long as an answer.
  useLayoutEffect(() => {
    setState({ data: undefined, error: null, reading: true });
    again();
    return () => running.current?.abort();
  }, inputs);
  return { ...state, again };
}
