// `TextEncoder` and `TextDecoder` for UTF-8.

/** Encodes texts as UTF-8. */
export class Utf8Encoder {
  readonly encoding = 'utf-8';

  encode(text = ''): Uint8Array {
    const bytes: number[] = [];
    for (const letter of String(text)) {
      let code = letter.codePointAt(0)!;
      if (code >= 0xd800 && code <= 0xdfff) code = 0xfffd;
      if (code < 0x80) bytes.push(code);
      else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
      else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
      else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    }
    return Uint8Array.from(bytes);
  }

  encodeInto(text: string, target: Uint8Array): { read: number; written: number } {
    let [read, written] = [0, 0];
    for (const letter of text) {
      const bytes = this.encode(letter);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      read += letter.length;
      written += bytes.length;
    }
    return { read, written };
  }
}

/** Decodes UTF-8. Wrong bytes become U+FFFD, or an error with `fatal`. */
export class Utf8Decoder {
  readonly encoding = 'utf-8';
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  #rest = new Uint8Array(0);
  #hasBegun = false;

  constructor(label = 'utf-8', { fatal = false, ignoreBOM = false }: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
    if (!/^utf-?8$/i.test(label.trim())) throw new RangeError(`there is no encoding \`${label}\` here: only utf-8`);
    this.fatal = fatal;
    this.ignoreBOM = ignoreBOM;
  }

  /** With `stream`, the bytes of a character that is not complete wait for the next call. */
  decode(source?: ArrayBuffer | ArrayBufferView, { stream = false }: { stream?: boolean } = {}): string {
    const view = source ?? new ArrayBuffer(0);
    const given = view instanceof ArrayBuffer ? new Uint8Array(view) : new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    let bytes = this.#rest.length === 0 ? given : Uint8Array.from([...this.#rest, ...given]);
    const complete = stream ? bytes.length - unfinished(bytes) : bytes.length;
    this.#rest = bytes.slice(complete);
    bytes = bytes.subarray(0, complete);
    const letters: string[] = [];
    for (let at = 0; at < bytes.length; ) {
      const [code, length] = this.#letter(bytes, at);
      letters.push(String.fromCodePoint(code));
      at += length;
    }
    const isFirst = !this.#hasBegun;
    this.#hasBegun = stream && (this.#hasBegun || letters.length > 0);
    if (!this.ignoreBOM && isFirst && letters[0] === '\ufeff') letters.shift();
    return letters.join('');
  }

  #letter(bytes: Uint8Array, at: number): [code: number, length: number] {
    const first = bytes[at]!;
    if (first < 0x80) return [first, 1];
    const more = first >= 0xf0 && first <= 0xf4 ? 3 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xc2 && first < 0xe0 ? 1 : 0;
    let code = more === 3 ? first & 7 : more === 2 ? first & 15 : first & 31;
    let place = 1;
    for (; place <= more; place += 1) {
      const byte = bytes[at + place];
      const least = place > 1 ? 0x80 : first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
      const most = place > 1 ? 0xbf : first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
      if (byte === undefined || byte < least || byte > most) break;
      code = (code << 6) | (byte & 63);
    }
    if (more > 0 && place > more) return [code, more + 1];
    if (this.fatal) throw new TypeError('the bytes are no UTF-8');
    return [0xfffd, place];
  }
}

/** The number of bytes at the end that begin a character without completing it. */
function unfinished(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}
