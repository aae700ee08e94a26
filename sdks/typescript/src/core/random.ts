// Random numbers from a seed: the generator sfc32.

/** A generator of numbers from 0 to 1, seeded with at least 16 bytes. */
export function generator(seed: ArrayLike<number>): () => number {
  const words = new Uint32Array(Uint8Array.from(Array.from(seed).slice(0, 16)).buffer);
  let [a = 0, b = 0, c = 0, d = 0] = words;
  return () => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + t) | 0;
    return (t >>> 0) / 2 ** 32;
  };
}

/** Bytes for a seed, made from a text. */
export function seedOf(text: string): Uint8Array {
  const seed = new Uint8Array(32);
  for (let hash = 0x811c9dc5, at = 0; at < text.length + seed.length; at += 1) {
    hash = Math.imul(hash ^ (at < text.length ? text.charCodeAt(at) : at), 0x01000193);
    seed[at % seed.length]! ^= hash >>> 24;
  }
  return seed;
}

/** A random UUID (version 4). */
export function uuid(random: () => number): string {
  const bytes = Array.from({ length: 16 }, () => Math.floor(random() * 256));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const text = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-');
}
