// Promises with a queue of their own. QuickJS returns from an exported function without running what its promises have
// made ready, and gives a program no way to ask for it; these promises are run by `drain`, at the end of each call. They
// take the place of the engine's; the build lowers `async` functions to generators, which then wait on them as well.

const queue = [];

class Settling {
  #state = 'pending';
  #value;
  #reactions = [];

  constructor(executor) {
    let decided = false;
    const once = (decide) => (value) => {
      if (decided) return;
      decided = true;
      decide(value);
    };
    const reject = (reason) => this.#settle('rejected', reason);
    const resolve = (value) => this.#adopt(value, resolve, reject);
    try {
      executor(once(resolve), once(reject));
    } catch (error) {
      once(reject)(error);
    }
  }

  #adopt(value, resolve, reject) {
    if (value === this) return reject(new TypeError('a promise cannot wait for itself'));
    let then;
    try {
      then = value !== null && (typeof value === 'object' || typeof value === 'function') && value.then;
    } catch (error) {
      return reject(error);
    }
    if (typeof then !== 'function') return this.#settle('fulfilled', value);
    queue.push(() => new Settling((done, failed) => then.call(value, done, failed)).#react(resolve, reject));
  }

  #settle(state, value) {
    this.#state = state;
    this.#value = value;
    for (const reaction of this.#reactions.splice(0)) queue.push(reaction);
  }

  #react(fulfilled, rejected) {
    const reaction = () => (this.#state === 'fulfilled' ? fulfilled : rejected)(this.#value);
    if (this.#state === 'pending') this.#reactions.push(reaction);
    else queue.push(reaction);
  }

  then(fulfilled, rejected) {
    return new Settling((resolve, reject) => {
      const through = (handler, otherwise) => (value) => {
        if (typeof handler !== 'function') return otherwise(value);
        try {
          resolve(handler(value));
        } catch (error) {
          reject(error);
        }
      };
      this.#react(through(fulfilled, resolve), through(rejected, reject));
    });
  }

  catch(rejected) {
    return this.then(undefined, rejected);
  }

  finally(last) {
    return this.then(
      (value) => Settling.resolve(last()).then(() => value),
      (reason) => Settling.resolve(last()).then(() => Settling.reject(reason)),
    );
  }

  static resolve(value) {
    return value instanceof Settling ? value : new Settling((resolve) => resolve(value));
  }

  static reject(reason) {
    return new Settling((_, reject) => reject(reason));
  }

  static withResolvers() {
    const parts = {};
    parts.promise = new Settling((resolve, reject) => Object.assign(parts, { resolve, reject }));
    return parts;
  }

  static all(values) {
    return gather(values, (told, done, failed) => [(value) => (told(value), done()), failed]);
  }

  static allSettled(values) {
    return gather(values, (told, done) => [
      (value) => (told({ status: 'fulfilled', value }), done()),
      (reason) => (told({ status: 'rejected', reason }), done()),
    ]);
  }

  static race(values) {
    return new Settling((resolve, reject) => {
      for (const value of values) Settling.resolve(value).then(resolve, reject);
    });
  }

  static any(values) {
    const turned = [...values].map((value) =>
      Settling.resolve(value).then((first) => Settling.reject(first), (reason) => reason),
    );
    return Settling.all(turned).then(
      (reasons) => Settling.reject(Object.assign(new Error('every promise was rejected'), { errors: reasons })),
      (first) => first,
    );
  }

  /// Runs everything that is ready, and what that makes ready.
  static drain() {
    for (let ready = queue.shift(); ready; ready = queue.shift()) ready();
  }
}

function gather(values, handlers) {
  return new Settling((resolve, reject) => {
    const results = [];
    let missing = 1;
    const done = () => --missing || resolve(results);
    for (const [place, value] of [...values].entries()) {
      missing += 1;
      Settling.resolve(value).then(...handlers((result) => (results[place] = result), done, reject));
    }
    done();
  });
}

globalThis.Promise = Settling;
