// A context that names what does not exist, instead of `undefined is not a function`.

import { nearest } from './retry.js';

/** Names that programs ask any object for. */
const ASKED_OF_ALL = new Set(['then', 'toJSON', 'constructor', 'prototype', 'inspect', 'nodeType', 'tagName', 'asymmetricMatch', 'length', 'name', 'caller', 'valueOf', 'toString', '$$typeof', 'hasAttribute']);

/** The same object; to read a name that it does not have is an error that names the nearest one. */
export function guarded<T extends object>(object: T, what: string): T {
  return new Proxy(object, {
    get(target, name, receiver) {
      if (name in target || typeof name === 'symbol' || ASKED_OF_ALL.has(name) || name.startsWith('@@')) return Reflect.get(target, name, receiver);
      const meant = nearest(name, Object.keys(target));
      throw new TypeError(`\`${name}\` is not ${what}${meant === undefined ? '' : `; do you mean \`${meant}\`?`}`);
    },
    set(_, name) {
      throw new TypeError(`\`${String(name)}\` cannot be set: the context has no fields of yours; use a variable`);
    },
  });
}
