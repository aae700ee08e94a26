// SHA-256 of content that passes in pieces. `crypto.subtle` takes only whole values.

/** A hash that is computed in pieces. */
export interface Hash {
  update(bytes: Uint8Array): void;
  digest(): Uint8Array;
}

/** Returns the hash of Node where there is one, and else one in JavaScript. */
export function sha256(): Hash {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  const node = process?.getBuiltinModule?.('node:crypto') as { createHash?: (name: string) => Hash } | undefined;
  return node?.createHash?.('sha256') ?? new Sha256();
}

const BLOCK = 64;
const root = (value: number) => Math.floor((value - Math.floor(value)) * 2 ** 32);
const primes = Array.from({ length: 312 }, (_, at) => at).filter(
  (n) => n > 1 && Array.from({ length: n }, (_, at) => at).every((at) => at < 2 || n % at !== 0),
);
// FIPS 180-4: the fractional parts of the cube roots and the square roots of the first primes.
const K = new Uint32Array(primes.slice(0, 64).map((prime) => root(Math.cbrt(prime))));
const BEGIN = primes.slice(0, 8).map((prime) => root(Math.sqrt(prime)));

/** SHA-256 in JavaScript, for pages. */
export class Sha256 implements Hash {
  readonly #state = new Uint32Array(BEGIN);
  readonly #words = new Uint32Array(64);
  readonly #block = new Uint8Array(BLOCK);
  #filled = 0;
  #bytes = 0;

  update(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    for (let at = 0; at < bytes.length;) {
      const taken = bytes.subarray(at, at + BLOCK - this.#filled);
      this.#block.set(taken, this.#filled);
      this.#filled += taken.length;
      at += taken.length;
      if (this.#filled === BLOCK) this.#compress();
    }
  }

  digest(): Uint8Array {
    const bits = this.#bytes * 8;
    const padding = new Uint8Array((this.#filled < 56 ? 56 : 120) - this.#filled + 8);
    padding[0] = 0x80;
    const length = new DataView(padding.buffer, padding.length - 8);
    length.setUint32(0, Math.floor(bits / 2 ** 32));
    length.setUint32(4, bits >>> 0);
    this.update(padding);
    const digest = new DataView(new ArrayBuffer(32));
    this.#state.forEach((word, at) => digest.setUint32(4 * at, word));
    return new Uint8Array(digest.buffer);
  }

  #compress(): void {
    const [words, block, state] = [this.#words, new DataView(this.#block.buffer), this.#state];
    const turned = (word: number, by: number) => (word >>> by) | (word << (32 - by));
    for (let at = 0; at < 16; at += 1) words[at] = block.getUint32(4 * at);
    for (let at = 16; at < 64; at += 1) {
      const [near, far] = [words[at - 2] as number, words[at - 15] as number];
      const first = turned(near, 17) ^ turned(near, 19) ^ (near >>> 10);
      const second = turned(far, 7) ^ turned(far, 18) ^ (far >>> 3);
      words[at] = first + second + (words[at - 7] as number) + (words[at - 16] as number);
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
    for (let at = 0; at < 64; at += 1) {
      const choice = (e & f) ^ (~e & g);
      const one =
        (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + h + choice + (K[at] as number) + (words[at] as number);
      const two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, at) => {
      state[at] = (state[at] as number) + word;
    });
    this.#filled = 0;
  }
}
