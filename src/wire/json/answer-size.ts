import { type DescField, type DescMessage, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { responseError, TOO_MANY_ELEMENTS } from "../../base/errors/call-errors.js";
import { decodeUtf8 } from "./json-values.js";

/**
 * The maximum number of elements of one response: its messages at any depth, and the elements of its lists and maps. A
 * response with more than 64 bytes per element may have more. A long list of history segments, for example, has about 160
 * bytes per segment. An empty element takes two bytes on the wire, and more than a hundred in memory.
 */
export const MAX_ELEMENTS = 1_000_000;

/** The minimum size of an element, in bytes. The number of larger elements is not limited. */
const ELEMENT_BYTES = 64;

/** The number of members for which a message counts as one element. An empty message of 35 members takes 1.6 kB. */
const MEMBERS_OF_ELEMENT = 8;

/** The number of members of JSON objects that count as one element. */
const JSON_MEMBERS_OF_ELEMENT = 4;

/** The maximum depth of messages and map entries; protobuf-es decodes messages up to a depth of 100. */
const MAX_DEPTH = 200;

/** Counts the elements of a response, whose size on the wire is `bytes`. */
export class ElementCount {
  private readonly bytes: number;
  private readonly max: number;
  private count = 0;

  constructor(bytes: number) {
    this.bytes = bytes;
    this.max = Math.max(MAX_ELEMENTS, bytes / ELEMENT_BYTES);
  }

  /** Returns the size of the response, in bytes: its size on the wire, or more if its elements are small. */
  size(): number {
    return Math.max(this.bytes, Math.ceil(this.count * ELEMENT_BYTES));
  }

  /** Counts from the beginning. */
  restart(): void {
    this.count = 0;
  }

  /**
   * Counts elements.
   *
   * @throws {@link ProtocolError} with `RESOURCE_EXHAUSTED` if there are more than a response may have
   */
  add(elements: number): void {
    this.count += elements;
    if (this.count > this.max) {
      throw responseError(TOO_MANY_ELEMENTS);
    }
  }
}

/** Returns the number of elements that a message counts as, excluding its contents. */
export function elementsOf(desc: DescMessage): number {
  return Math.max(1, Math.ceil(desc.members.length / MEMBERS_OF_ELEMENT));
}

/**
 * Counts the elements of a message before it is decoded, by the tags in its bytes.
 *
 * Rejects fields whose wire type differs from the definition, and fields that end after their message: protobuf-es would decode
 * something other than what was counted.
 *
 * @throws {@link ProtocolError} with `RESOURCE_EXHAUSTED` if it has more elements than a response may have
 * @throws Error if the bytes are not such a message
 */
export function assertElementLimit(desc: DescMessage, bytes: Uint8Array): number {
  const count = new ElementCount(bytes.length);
  count.add(elementsOf(desc));
  countIn(fieldsOf(desc), new BinaryReader(bytes), bytes.length, count, 0);
  return count.size();
}

/**
 * Counts the elements of JSON before it is parsed, by its brackets and commas.
 *
 * @throws {@link ProtocolError} with `RESOURCE_EXHAUSTED` if it has more elements than a response may have
 */
function assertJsonElementLimit(json: Uint8Array): number {
  const count = new ElementCount(json.length);
  const isList: boolean[] = [];
  let isCounted = false; // By the comma before it.
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) {
      at = endOfString(json, at);
      isCounted = false;
    } else if (byte === COMMA) {
      isCounted = isList.at(-1) === true;
      count.add(isCounted ? 1 : 1 / JSON_MEMBERS_OF_ELEMENT);
    } else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
      count.add(isCounted ? 0 : 1);
      isCounted = false;
      isList.push(byte === OPENING_BRACKET);
    } else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) {
      isList.pop();
    }
  }
  return count.size();
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

function endOfString(json: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== QUOTE) {
    at += json[at] === BACKSLASH ? 2 : 1;
  }
  return at;
}

interface CountedField {
  readonly wireType: WireType;
  /** Whether its values may be packed, without their tags. */
  readonly isPackable: boolean;
  readonly elements: number;
  /** The fields of its messages, or of its map entries. */
  readonly fields?: () => CountedFields;
}

type CountedFields = ReadonlyMap<number, CountedField>;

/** Counts the fields before `end`, or before the end of a group. */
function countIn(
  fields: CountedFields,
  reader: BinaryReader,
  end: number,
  count: ElementCount,
  depth: number,
  isGroup = false,
): void {
  while (reader.pos < end) {
    const tag = reader.uint32();
    const [number, wireType] = [tag >>> 3, tag & 7];
    if (isGroup && wireType === WireType.EndGroup) {
      return;
    }
    const field = fields.get(number);
    if (field === undefined) {
      count.add(1); // protobuf-es stores unknown fields.
      reader.skip(wireType, number);
    } else if (wireType === field.wireType) {
      count.add(field.elements);
      countValue(field, reader, end, count, depth);
    } else if (field.isPackable && wireType === WireType.LengthDelimited) {
      countPacked(field.wireType, reader, count);
    } else {
      throw new Error(`field ${number} has the wire type ${wireType}`);
    }
    assertBefore(end, reader.pos);
  }
}

function countValue(
  { wireType, fields }: CountedField,
  reader: BinaryReader,
  end: number,
  count: ElementCount,
  depth: number,
): void {
  if (wireType === WireType.Varint) {
    reader.uint32();
  } else if (wireType === WireType.Bit32) {
    reader.pos += 4;
  } else if (wireType === WireType.Bit64) {
    reader.pos += 8;
  } else if (wireType === WireType.StartGroup && fields !== undefined) {
    countIn(fields(), reader, end, count, nextDepth(depth), true);
  } else {
    const length = reader.uint32();
    const valueEnd = reader.pos + length;
    assertBefore(end, valueEnd);
    if (fields !== undefined) {
      countIn(fields(), reader, valueEnd, count, nextDepth(depth));
    }
    reader.pos = valueEnd;
  }
}

function assertBefore(end: number, at: number): void {
  if (at > end) {
    throw prematureEnd();
  }
}

/** Returns the error for a field that ends after its message, or in the middle of an element. protobuf-es has the same text. */
export function prematureEnd(): RangeError {
  return new RangeError("premature EOF");
}

function nextDepth(depth: number): number {
  if (depth === MAX_DEPTH) {
    throw new Error(`messages are nested more than ${MAX_DEPTH} deep`);
  }
  return depth + 1;
}

function countPacked(wireType: WireType, reader: BinaryReader, count: ElementCount): void {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (wireType === WireType.Varint) {
    while (reader.pos < end) {
      reader.uint32();
      count.add(1);
    }
    assertBefore(end, reader.pos);
  } else {
    const size = wireType === WireType.Bit32 ? 4 : 8;
    if (length % size !== 0) {
      throw prematureEnd();
    }
    count.add(length / size);
    reader.pos = end;
  }
}

const fieldsOfMessages = new WeakMap<DescMessage, CountedFields>();

function fieldsOf(desc: DescMessage): CountedFields {
  const known = fieldsOfMessages.get(desc);
  if (known !== undefined) {
    return known;
  }
  const fields = new Map(desc.fields.map((field) => [field.number, countedField(field)]));
  fieldsOfMessages.set(desc, fields);
  return fields;
}

function countedField(field: DescField): CountedField {
  if (field.fieldKind === "map") {
    const value = field.message === undefined ? scalarField(field.scalar, 0) : messageField(field.message, false);
    const entry = new Map([
      [1, scalarField(field.mapKey, 0)],
      [2, value],
    ]);
    return { wireType: WireType.LengthDelimited, isPackable: false, elements: 1, fields: () => entry };
  }
  const { message } = field;
  return message === undefined
    ? scalarField(field.scalar, field.fieldKind === "list" ? 1 : 0)
    : messageField(message, "delimitedEncoding" in field && field.delimitedEncoding);
}

function messageField(message: DescMessage, isGroup: boolean): CountedField {
  const wireType = isGroup ? WireType.StartGroup : WireType.LengthDelimited;
  return { wireType, isPackable: false, elements: elementsOf(message), fields: () => fieldsOf(message) };
}

/** Returns what is counted for a scalar field, or for an enum field if `scalar` is undefined. */
function scalarField(scalar: ScalarType | undefined, elements: number): CountedField {
  const wireType = wireTypeOf(scalar);
  return { wireType, isPackable: elements > 0 && wireType !== WireType.LengthDelimited, elements };
}

function wireTypeOf(scalar: ScalarType | undefined): WireType {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return WireType.Varint;
  }
}

/**
 * Parses JSON from a node.
 *
 * @throws {@link ProtocolError} with `RESOURCE_EXHAUSTED` if it has more elements than a response may have
 * @throws SyntaxError or TypeError if it is not JSON in UTF-8
 */
export function parseJson(bytes: Uint8Array): JsonValue {
  const size = assertJsonElementLimit(bytes);
  const json = decodeJson(bytes);
  if (typeof json === "object" && json !== null) {
    setSize(json, size);
  }
  return json;
}

/**
 * Parses JSON from a node as {@link parseJson} does, but does not record its size. Elements are counted only if it has more bytes than a
 * response may have elements.
 *
 * @throws {@link ProtocolError} with `RESOURCE_EXHAUSTED` if it has more elements than a response may have
 * @throws SyntaxError or TypeError if it is not JSON in UTF-8
 */
export function parseUnsizedJson(bytes: Uint8Array): JsonValue {
  if (bytes.length > MAX_ELEMENTS) {
    assertJsonElementLimit(bytes);
  }
  return decodeJson(bytes);
}

function decodeJson(bytes: Uint8Array): JsonValue {
  return JSON.parse(decodeUtf8(bytes));
}

/** The sizes of messages, by message, by their JSON and by values created from them. */
const sizes = new WeakMap<object, number>();

export function setSize(value: object, bytes: number): void {
  sizes.set(value, bytes);
}

export function sizeOf(value: unknown): number {
  return typeof value === "object" && value !== null ? (sizes.get(value) ?? 0) : 0;
}
