import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { brokenAnswer, TOO_MANY_ELEMENTS } from "../errors/broken-answer.js";

/**
 * The maximum number of elements of one answer: of messages in it, at any depth, and of the elements of its lists. An answer
 * of more than 64 bytes for each element may have more, as a long list of history segments does, each of which has some 160
 * bytes. An empty element takes two bytes as it is sent, and more than a hundred in memory.
 */
const MAX_ELEMENTS = 1_000_000;

/** The average size of an element, in bytes, from which on their number is not limited. */
const LARGE_ELEMENT = 64;

/** An element has at least two bytes, its tag and its length or value, but for the numbers of a packed list. */
const MIN_BYTES = MAX_ELEMENTS;

/**
 * Counts the elements of a message before it is decoded, by the tags in its bytes.
 *
 * @param desc the message's descriptor
 * @param bytes the message in Protobuf's binary form
 * @throws {@link ProtocolError} with `RESOURCE_EXHAUSTED` if it has more elements than an answer may have
 */
export function requireFewElements(desc: DescMessage, bytes: Uint8Array): void {
  if (bytes.length > MIN_BYTES) {
    const counted = { count: 0, bytes: bytes.length };
    countIn(desc, new BinaryReader(bytes), bytes.length, counted, 0);
  }
}

/**
 * Counts the objects and lists in JSON before it is parsed, by their opening brackets.
 *
 * @param json the JSON, in UTF-8
 * @throws {@link ProtocolError} with `RESOURCE_EXHAUSTED` if it has more elements than an answer may have
 */
export function requireFewJsonElements(json: Uint8Array): void {
  if (json.length <= MIN_BYTES) {
    return;
  }
  let count = 0;
  for (const byte of json) {
    if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
      count += 1;
    }
  }
  if (count > maxElements(json.length)) {
    throw brokenAnswer(TOO_MANY_ELEMENTS);
  }
}

const OPENING_BRACE = 0x7b;
const OPENING_BRACKET = 0x5b;

/** How deep messages are counted; protobuf-es decodes no deeper ones. */
const MAX_DEPTH = 100;

function countIn(
  desc: DescMessage,
  reader: BinaryReader,
  end: number,
  counted: { count: number; readonly bytes: number },
  depth: number,
): void {
  const fields = fieldsOf(desc);
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    const field = fields.get(number);
    if (wireType !== WireType.LengthDelimited || field === undefined) {
      counted.count += field === undefined || field.fieldKind === "list" ? 1 : 0; // Unknown fields are kept.
      reader.skip(wireType, number);
    } else {
      const length = reader.uint32();
      const fieldEnd = reader.pos + length;
      const inner = field.fieldKind === "map" ? undefined : field.message;
      counted.count += field.fieldKind === "scalar" || field.fieldKind === "enum" ? 0 : elementsOf(field, length);
      if (inner !== undefined && length > 0 && depth < MAX_DEPTH && fieldEnd <= end) {
        countIn(inner, reader, fieldEnd, counted, depth + 1);
      }
      reader.pos = fieldEnd;
    }
    if (counted.count > maxElements(counted.bytes)) {
      throw brokenAnswer(TOO_MANY_ELEMENTS);
    }
  }
}

/** The fields of messages by their numbers. */
const fieldsByNumber = new WeakMap<DescMessage, ReadonlyMap<number, DescField>>();

function fieldsOf(desc: DescMessage): ReadonlyMap<number, DescField> {
  const known = fieldsByNumber.get(desc);
  if (known !== undefined) {
    return known;
  }
  const fields = new Map(desc.fields.map((field) => [field.number, field]));
  fieldsByNumber.set(desc, fields);
  return fields;
}

/** How many elements a field of so many bytes has: each byte of a packed list may be one. */
function elementsOf(field: DescField, length: number): number {
  const isPacked =
    field.fieldKind === "list" &&
    (field.listKind === "enum" ||
      (field.listKind === "scalar" && field.scalar !== ScalarType.STRING && field.scalar !== ScalarType.BYTES));
  return isPacked ? Math.max(1, Math.floor(length / PACKED_BYTES)) : 1;
}

/** The size of an element of a packed list that is assumed, in bytes: heights and times have more. */
const PACKED_BYTES = 4;

function maxElements(bytes: number): number {
  return Math.max(MAX_ELEMENTS, Math.floor(bytes / LARGE_ELEMENT));
}
