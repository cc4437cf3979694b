const QUOTE = 0x22;
const LF = 0x0a;

/** The start of a row whose end has not arrived yet. */
export interface Carry {
  /** How many bytes there are. */
  readonly length: number;
  /** Takes as much of `bytes` as belongs to the row and no more than `max` bytes in all. */
  add(bytes: Buffer, max: number): { readonly taken: number; readonly whole: boolean };
  /** The row's bytes; the carry is empty afterwards. */
  take(): Buffer;
}

/**
 * An empty carry. It copies what it takes, into room that doubles, and goes over each byte once, so a field that arrives in a
 * thousand chunks costs no more than one that arrives in one.
 */
export function createCarry(): Carry {
  let room = Buffer.alloc(0);
  let length = 0;
  let quoted = false;
  return {
    get length() {
      return length;
    },
    add(bytes, max) {
      const limit = Math.min(bytes.length, max - length);
      let taken = 0;
      let whole = false;
      while (taken < limit && !whole) {
        const byte = bytes[taken++];
        if (byte === QUOTE) {
          // A doubled quote turns this off and on again. Where a quote stands in the wrong place this is wrong, and the row may
          // seem to go on; that place is then found first when the row is read.
          quoted = !quoted;
        } else if (byte === LF) {
          whole = !quoted;
        }
      }
      if (length + taken > room.length) {
        const larger = Buffer.allocUnsafe(Math.max(length + taken, 2 * room.length));
        room.copy(larger, 0, 0, length);
        room = larger;
      }
      bytes.copy(room, length, 0, taken);
      length += taken;
      return { taken, whole };
    },
    take() {
      const bytes = room.subarray(0, length);
      room = Buffer.alloc(0);
      length = 0;
      quoted = false;
      return bytes;
    },
  };
}
