// A value that several components look at.

import { useEffect, useState } from './dom.js';

/** A value with watchers: `get`, `set`, and `use` as a hook. */
export function shared(initial) {
  let current = initial;
  const watchers = new Set();
  const watch = (watcher) => {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  };
  return {
    get: () => current,
    set(next) {
      if (Object.is(next, current)) return;
      current = next;
      for (const watcher of [...watchers]) watcher(next);
    },
    watch,
    use() {
      const [seen, see] = useState(current);
      useEffect(() => {
        see(current);
        return watch(see);
      }, []);
      return seen;
    },
  };
}
