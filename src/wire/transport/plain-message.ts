import { type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { prematureEnd } from "../json/answer-size.js";
import { MAX_DEPTH } from "../json/json-values.js";
import {
  emptyMessage,
  isMembers,
  type Members,
  type Plan,
  type PlannedField,
  plainFormsOf,
  planOf,
} from "../json/message-plan.js";

/**
 * Decodes a message of a plain type several times as fast as protobuf-es, to which it leaves the others: those with fields that
 * proto3 does not know, or with messages that protobuf-es represents in a form of its own.
 *
 * @param bytes a message that `assertElementLimit` has accepted: its fields have the wire types of their definitions, and none
 *   ends after its message
 * @returns what `fromBinary` of protobuf-es returns, except that a byte order mark at the start of a text remains; `undefined` if
 *   the type is not plain
 * @throws Error as `fromBinary` does
 */
export function decodePlain(desc: DescMessage, bytes: Uint8Array): object | undefined {
  return plainFormsOf(desc).binary ? new PlainReader(bytes).message(planOf(desc), bytes.length) : undefined;
}

class PlainReader {
  private readonly bytes: Uint8Array;
  private readonly buffer: Buffer;
  private at = 0;
  private depth = 0;
  /** The upper half of the integer that was read last. */
  private high = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Reads a message up to `end`, into the one of an earlier occurrence of its field if there is one. */
  message(plan: Plan, end: number, earlier?: unknown): Members {
    this.depth += 1;
    if (this.depth > MAX_DEPTH) {
      throw new Error(`cannot decode ${plan.name}: maximum recursion depth of ${MAX_DEPTH} reached`);
    }
    const message = isMembers(earlier) ? earlier : emptyMessage(plan);
    while (this.at < end) {
      const start = this.at;
      const tag = this.tag();
      const field = plan.fields[tag >>> 3];
      if (field === undefined) {
        this.at = start;
        this.unknownField(message);
      } else if (field.kind === "list") {
        this.listField(field, message[field.name], tag & 7);
      } else if (field.kind === "map") {
        this.mapField(field, message[field.name]);
      } else if (field.oneof === undefined) {
        message[field.name] =
          field.message === undefined ? this.scalar(field.scalar) : this.child(field.message, message[field.name]);
      } else {
        const chosen = message[field.oneof];
        const earlier = isMembers(chosen) && chosen["case"] === field.name ? chosen["value"] : undefined;
        const value = field.message === undefined ? this.scalar(field.scalar) : this.child(field.message, earlier);
        message[field.oneof] = { case: field.name, value };
      }
    }
    this.depth -= 1;
    return message;
  }

  private child(plan: () => Plan, earlier: unknown): Members {
    return this.message(plan(), this.end(), earlier);
  }

  private listField({ scalar, message }: PlannedField, list: unknown, wireType: number): void {
    if (!Array.isArray(list)) {
      return;
    }
    if (message !== undefined) {
      list.push(this.child(message, undefined));
    } else if (wireType === WireType.LengthDelimited && scalar !== ScalarType.STRING && scalar !== ScalarType.BYTES) {
      for (const end = this.end(); this.at < end; ) {
        list.push(this.scalar(scalar));
      }
    } else {
      list.push(this.scalar(scalar));
    }
  }

  private mapField({ scalar, mapKey, message }: PlannedField, map: unknown): void {
    let key = defaultOf(mapKey);
    let value: unknown;
    for (const end = this.end(); this.at < end; ) {
      const start = this.at;
      const number = this.tag() >>> 3;
      if (number === 1) {
        key = this.scalar(mapKey);
      } else if (number === 2) {
        value = message === undefined ? this.scalar(scalar) : this.child(message, undefined);
      } else {
        this.at = start;
        this.unknown();
      }
    }
    value ??= message === undefined ? defaultOf(scalar) : emptyMessage(message());
    // An assignment would set the prototype where the key is `__proto__`.
    Object.defineProperty(map, String(key), { value, configurable: true, enumerable: true, writable: true });
  }

  private unknownField(message: Members): void {
    const unknown = message["$unknown"];
    const fields: unknown[] = Array.isArray(unknown) ? unknown : [];
    fields.push(this.unknown());
    message["$unknown"] = fields;
  }

  /** Reads a field that the definition lacks, with its tag. */
  private unknown() {
    const reader = new BinaryReader(this.bytes);
    reader.pos = this.at;
    const [no, wireType] = reader.tag();
    const data = reader.skip(wireType, no, MAX_DEPTH - this.depth);
    this.at = reader.pos;
    return { no, wireType, data };
  }

  /** Reads a tag. Those of numbers up to 2047 have one or two bytes. */
  private tag(): number {
    const { buffer, at } = this;
    const first = buffer[at] ?? 0;
    if (first < 0x80) {
      this.at = at + 1;
      return first;
    }
    const second = buffer[at + 1] ?? 0;
    if (second < 0x80) {
      this.at = at + 2;
      return (first & 0x7f) | (second << 7);
    }
    const reader = new BinaryReader(this.bytes);
    reader.pos = at;
    const [number, wireType] = reader.tag();
    this.at = reader.pos;
    return (number << 3) | wireType;
  }

  scalar(type: ScalarType): unknown {
    switch (type) {
      case ScalarType.STRING:
        return this.text();
      case ScalarType.BYTES:
        return this.slice();
      case ScalarType.BOOL:
        return this.varint() !== 0 || this.high !== 0;
      case ScalarType.INT32:
        return this.varint();
      case ScalarType.UINT32:
        return this.varint() >>> 0;
      case ScalarType.SINT32: {
        const zigzag = this.varint();
        return (zigzag >>> 1) ^ -(zigzag & 1);
      }
      case ScalarType.INT64:
        return toSigned(this.varint(), this.high);
      case ScalarType.UINT64:
        return toUnsigned(this.varint(), this.high);
      case ScalarType.SINT64: {
        const zigzag = toUnsigned(this.varint(), this.high);
        return (zigzag >> 1n) ^ -(zigzag & 1n);
      }
      case ScalarType.FIXED32:
        return this.buffer.readUInt32LE(this.skip(4));
      case ScalarType.SFIXED32:
        return this.buffer.readInt32LE(this.skip(4));
      case ScalarType.FLOAT:
        return this.buffer.readFloatLE(this.skip(4));
      case ScalarType.FIXED64:
        return this.buffer.readBigUInt64LE(this.skip(8));
      case ScalarType.SFIXED64:
        return this.buffer.readBigInt64LE(this.skip(8));
      case ScalarType.DOUBLE:
        return this.buffer.readDoubleLE(this.skip(8));
    }
  }

  /** Returns the position before `length` bytes, and goes on after them. */
  private skip(length: number): number {
    const { at } = this;
    this.at = at + length;
    return at;
  }

  private slice(): Uint8Array {
    const end = this.end();
    return this.bytes.subarray(this.skip(end - this.at), end);
  }

  private text(): string {
    const end = this.end();
    const start = this.skip(end - this.at);
    const text = this.buffer.toString("utf8", start, end);
    return text.includes(REPLACEMENT) ? strictUtf8.decode(this.bytes.subarray(start, end)) : text;
  }

  /** Reads a length; returns where what has it ends. */
  private end(): number {
    const length = this.varint() >>> 0;
    if (this.at + length > this.bytes.length) {
      throw prematureEnd();
    }
    return this.at + length;
  }

  /** Reads a variable-length integer; returns the lower half, with a sign, and sets `high`. */
  private varint(): number {
    const { buffer } = this;
    let at = this.at;
    let low = 0;
    let high = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = buffer[at] ?? 0;
      at += 1;
      const bits = byte & 0x7f;
      if (shift < 32) {
        low |= bits << shift;
      }
      if (shift > 25) {
        high |= shift < 32 ? bits >>> (32 - shift) : bits << (shift - 32);
      }
      if (byte < 0x80) {
        this.at = at;
        this.high = high;
        return low;
      }
    }
  }
}

/** Returns the default of a scalar: what an empty value of its type is read as. */
function defaultOf(scalar: ScalarType): unknown {
  return new PlainReader(EIGHT_ZEROS).scalar(scalar);
}

const EIGHT_ZEROS = new Uint8Array(8);

const words = new DataView(new ArrayBuffer(8));

function toSigned(low: number, high: number): bigint {
  if (high === 0) {
    return BigInt(low >>> 0);
  }
  words.setInt32(0, high);
  words.setInt32(4, low);
  return words.getBigInt64(0);
}

function toUnsigned(low: number, high: number): bigint {
  return BigInt.asUintN(64, toSigned(low, high));
}

/** What `Buffer` puts in the place of bytes that are not UTF-8. */
const REPLACEMENT = "\uFFFD";
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
