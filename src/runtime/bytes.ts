/** Bytes with the methods of Node's `Buffer` that are used where the library also works in browsers. */
export interface Bytes extends Uint8Array {
  subarray(start?: number, end?: number): Bytes;
  toString(encoding?: ByteEncoding): string;
  equals(other: Uint8Array): boolean;
  copy(target: Uint8Array, targetStart?: number, start?: number, end?: number): number;
  indexOf(value: number | Uint8Array, from?: number): number;
  lastIndexOf(value: number | Uint8Array, from?: number): number;
  readUInt16LE(offset: number): number;
  readUInt32LE(offset: number): number;
  readBigUInt64LE(offset: number): bigint;
  writeUInt32LE(value: number, offset?: number): number;
  writeBigUInt64LE(value: bigint, offset?: number): number;
}

/**
 * Returns whether a value is bytes, including those of another realm: in Jest's environments and in contexts of `node:vm`, they are
 * not instances of the local `Uint8Array`.
 *
 * @param value any value
 * @returns whether it is a `Uint8Array`, such as a `Buffer`
 */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === "[object Uint8Array]";
}

/** How bytes are written as text. */
type ByteEncoding = "ascii" | "base64" | "hex" | "latin1" | "utf8";

/** The functions of Node's `Buffer` that are used where the library also works in browsers. */
interface BytesFactory {
  alloc(size: number): Bytes;
  allocUnsafe(size: number): Bytes;
  of(...bytes: number[]): Bytes;
  from(text: string, encoding?: ByteEncoding): Bytes;
  from(bytes: Uint8Array): Bytes;
  from(memory: ArrayBufferLike, offset: number, length: number): Bytes;
  concat(parts: readonly Uint8Array[]): Bytes;
  byteLength(text: string): number;
}

/** Does in browsers what Node's `Buffer` does, but for the speed. */
class WebBytes extends Uint8Array<ArrayBufferLike> implements Bytes {
  override subarray(start?: number, end?: number): Bytes {
    const { byteOffset, length } = super.subarray(start, end);
    return new WebBytes(this.buffer, byteOffset, length);
  }

  override toString(encoding: ByteEncoding = "utf8"): string {
    if (encoding === "utf8") {
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this);
    }
    if (encoding === "hex") {
      return Array.from(this, (byte) => byte.toString(16).padStart(2, "0")).join("");
    }
    let text = "";
    for (let at = 0; at < this.length; at += MAX_ARGUMENTS) {
      text += String.fromCharCode(...this.subarray(at, at + MAX_ARGUMENTS));
    }
    if (encoding === "base64") {
      return btoa(text);
    }
    return encoding === "latin1"
      ? text
      : text.replace(/[^\0-\x7f]/g, (character) => String.fromCharCode(character.charCodeAt(0) & 0x7f));
  }

  equals(other: Uint8Array): boolean {
    return this.length === other.length && this.every((byte, index) => byte === other[index]);
  }

  copy(target: Uint8Array, targetStart = 0, start = 0, end = this.length): number {
    const part = this.subarray(start, Math.min(end, start + target.length - targetStart));
    target.set(part, targetStart);
    return part.length;
  }

  override indexOf(value: number | Uint8Array, from = 0): number {
    if (typeof value === "number") {
      return super.indexOf(value, from);
    }
    for (let at = super.indexOf(value[0] ?? 0, from); at !== -1; at = super.indexOf(value[0] ?? 0, at + 1)) {
      if (this.#has(value, at)) {
        return at;
      }
    }
    return -1;
  }

  override lastIndexOf(value: number | Uint8Array, from = this.length - 1): number {
    if (typeof value === "number") {
      return super.lastIndexOf(value, from);
    }
    for (let at = Math.min(from, this.length - value.length); at >= 0; at -= 1) {
      if (this.#has(value, at)) {
        return at;
      }
    }
    return -1;
  }

  readUInt16LE(offset: number): number {
    return this.#view().getUint16(offset, true);
  }

  readUInt32LE(offset: number): number {
    return this.#view().getUint32(offset, true);
  }

  readBigUInt64LE(offset: number): bigint {
    return this.#view().getBigUint64(offset, true);
  }

  writeUInt32LE(value: number, offset = 0): number {
    this.#view().setUint32(offset, value, true);
    return offset + 4;
  }

  writeBigUInt64LE(value: bigint, offset = 0): number {
    this.#view().setBigUint64(offset, value, true);
    return offset + 8;
  }

  #has(part: Uint8Array, at: number): boolean {
    return at + part.length <= this.length && part.every((byte, index) => byte === this[at + index]);
  }

  #view(): DataView {
    return new DataView(this.buffer, this.byteOffset, this.length);
  }
}

/** Maximum number of arguments of a call in every engine. */
const MAX_ARGUMENTS = 8192;

function encode(text: string, encoding: ByteEncoding): Uint8Array {
  switch (encoding) {
    case "utf8":
      return new TextEncoder().encode(text);
    case "hex":
      return Uint8Array.from(text.match(/[0-9a-f]{2}/gi) ?? [], (digits) => Number.parseInt(digits, 16));
    case "base64":
      return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    default:
      return Uint8Array.from(text, (character) => character.charCodeAt(0));
  }
}

function alloc(size: number): Bytes {
  return new WebBytes(new ArrayBuffer(size));
}

function concat(parts: readonly Uint8Array[]): Bytes {
  const all = alloc(parts.reduce((size, { length }) => size + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const webBytes: BytesFactory = {
  alloc,
  allocUnsafe: alloc,
  of: (...bytes) => concat([Uint8Array.from(bytes)]),
  from(source: string | Uint8Array | ArrayBufferLike, second?: ByteEncoding | number, length?: number) {
    if (typeof source === "string") {
      return concat([encode(source, typeof second === "string" ? second : "utf8")]);
    }
    return isBytes(source) ? concat([source]) : new WebBytes(source, typeof second === "number" ? second : 0, length);
  },
  concat,
  byteLength: (text) => new TextEncoder().encode(text).length,
};

/** Node's `Buffer`; in browsers, a class with the same methods. */
export const Bytes: BytesFactory = typeof Buffer === "function" ? Buffer : webBytes;
