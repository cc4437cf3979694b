const QUOTE = 0x22;
const LF = 0x0a;

/** The start of a row whose end has not arrived yet. */
export interface Carry {
  /** How many bytes there are. */
  readonly length: number;
  /**
   * Add bytes up to the end of the row.
   *
   * @param bytes the next bytes of the file
   * @param max the most bytes that the carry may hold
   * @returns how many bytes were taken, and whether the row is whole
   */
  add(bytes: Buffer, max: number): { readonly taken: number; readonly whole: boolean };
  /**
   * Empty the carry.
   *
   * @returns the bytes that were in it
   */
  take(): Buffer;
}

/**
 * Make an empty carry. It copies bytes into a buffer that doubles, and looks at each byte once, so a field that arrives
 * in a thousand chunks costs no more than one that arrives in one.
 *
 * @returns the carry
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
          // A doubled quote turns this off and on again. After a misplaced quote the state is wrong and the row may
          // seem to go on, but reading the row then finds that quote first.
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
