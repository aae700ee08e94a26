// Lines and server-sent events in bytes that arrive in pieces.

/** An event of a stream of server-sent events (`text/event-stream`). */
export interface ServerEvent {
  /** The type of the event; `message` if it has none. */
  event: string;
  /** The data; several lines are joined by line feeds. */
  data: string;
  /** The last id that the server has sent; empty if none. */
  id: string;
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** The lines of a body, which end with a line feed, a carriage return, or both. Characters and lines may be cut by the pieces. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  // A line has all bytes of its characters, so each is decoded by itself.
  const text = (parts: Uint8Array[]) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(concatenated(parts));
  let begun: Uint8Array[] = [];
  let afterReturn = false;
  for await (const piece of pieces) {
    let from: number = afterReturn && piece[0] === LINE_FEED ? 1 : 0;
    if (piece.length > 0) afterReturn = false;
    let feed: number = piece.indexOf(LINE_FEED, from);
    let carriage: number = piece.indexOf(CARRIAGE_RETURN, from);
    while (feed >= 0 || carriage >= 0) {
      const isFeed = carriage < 0 || (feed >= 0 && feed < carriage);
      const end = isFeed ? feed : carriage;
      const line = text([...begun, piece.subarray(from, end)]);
      begun = [];
      afterReturn = !isFeed && end + 1 === piece.length;
      from = !isFeed && feed === end + 1 ? end + 2 : end + 1;
      if (feed >= 0 && feed < from) feed = piece.indexOf(LINE_FEED, from);
      if (carriage >= 0 && carriage < from) carriage = piece.indexOf(CARRIAGE_RETURN, from);
      yield line;
    }
    if (from < piece.length) begun.push(piece.slice(from));
  }
  if (begun.length > 0) yield text(begun);
}

/** The parts as one. */
export function concatenated(parts: Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}

/** The events of a body. One that no empty line ends is left out, as the standard says. */
export async function* eventsOf(lines: AsyncIterable<string>): AsyncGenerator<ServerEvent, undefined> {
  let [event, id, isFirst] = ['', '', true];
  let data: string[] = [];
  for await (const given of lines) {
    const line = isFirst ? given.replace(/^\ufeff/, '') : given;
    isFirst = false;
    if (line === '') {
      const ended = { event: event || 'message', data: data.join('\n'), id };
      const hasData = data.length > 0;
      [event, data] = ['', []];
      if (hasData) yield ended;
      continue;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
    else if (field === 'id' && !value.includes('\0')) id = value;
  }
}
