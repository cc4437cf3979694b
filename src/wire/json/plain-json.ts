import { type DescEnum, type DescField, type DescMessage, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import type { ElementCount } from "./answer-size.js";
import { decodeBase64, isJsonObject, MAX_DEPTH } from "./json-values.js";
import {
  emptyMessage,
  isMembers,
  type Members,
  type Plan,
  type PlannedField,
  plainFormsOf,
  planOf,
} from "./message-plan.js";
import { encodeUnknownEnumName } from "./protobuf-json.js";

/**
 * Converts the JSON of a message several times as fast as protobuf-es, to which it leaves everything but plain types and the
 * forms in which servers write their values. It decides about no error: JSON that does not fit is left to protobuf-es, too.
 *
 * @param count counts the elements
 * @returns what `fromJson` of protobuf-es returns; `undefined` if it has to decide
 * @throws {@link ProtocolError} if there are too many elements, or a text cannot be the name of an enum value
 */
export function plainFromJson(desc: DescMessage, json: JsonValue, count: ElementCount | undefined): object | undefined {
  if (!plainFormsOf(desc).json) {
    return undefined;
  }
  const message = readMessage(planOf(desc), json, { count, depth: 0 });
  return message === OTHER ? undefined : message;
}

/** What a value in a form is read as that is left to protobuf-es. */
const OTHER = Symbol("other");

interface Reading {
  readonly count: ElementCount | undefined;
  depth: number;
}

function readMessage(plan: Plan, json: JsonValue, reading: Reading): Members | typeof OTHER {
  if (!isJsonObject(json) || reading.depth === MAX_DEPTH) {
    return OTHER;
  }
  reading.depth += 1;
  reading.count?.add(plan.elements);
  const message = emptyMessage(plan);
  for (const key of Object.keys(json)) {
    const field = plan.byName.get(key);
    const value = json[key];
    if (field === undefined || value === undefined) {
      continue; // Unknown fields are ignored.
    }
    const isTwice = field.desc.jsonName !== key && Object.hasOwn(json, field.desc.jsonName);
    if (isTwice || !readField(field, value, message, reading)) {
      return OTHER;
    }
  }
  reading.depth -= 1;
  return message;
}

/** Reads a field into its message; returns `false` if its value is left to protobuf-es. */
function readField(field: PlannedField, json: JsonValue, message: Members, reading: Reading): boolean {
  const { name, oneof, kind } = field;
  if (json === null) {
    return oneof === undefined; // The field has its default.
  }
  if (kind === "list") {
    return readList(field, json, message[name], reading);
  }
  if (kind === "map") {
    return readMap(field, json, message[name], reading);
  }
  const value = readValue(field, json, reading);
  if (value === OTHER) {
    return false;
  }
  if (oneof === undefined) {
    message[name] = value;
    return true;
  }
  const chosen = message[oneof];
  message[oneof] = { case: name, value };
  return isMembers(chosen) && chosen["case"] === undefined; // Otherwise, it is set twice.
}

function readList(field: PlannedField, json: JsonValue, list: unknown, reading: Reading): boolean {
  if (!Array.isArray(json) || !Array.isArray(list)) {
    return false;
  }
  for (const item of json) {
    const value = readValue(field, item, reading);
    if (value === OTHER) {
      return false;
    }
    list.push(value);
  }
  return true;
}

function readMap(field: PlannedField, json: JsonValue, map: unknown, reading: Reading): boolean {
  if (!isJsonObject(json) || !isMembers(map) || field.mapKey !== ScalarType.STRING) {
    return false;
  }
  for (const key of Object.keys(json)) {
    const value = readValue(field, json[key] ?? null, reading);
    if (value === OTHER || key === "__proto__" || !key.isWellFormed()) {
      return false;
    }
    map[key] = value;
  }
  return true;
}

function readValue({ message, enums, scalar, desc }: PlannedField, json: JsonValue, reading: Reading): unknown {
  if (message !== undefined) {
    return readMessage(message(), json, reading);
  }
  return enums === undefined || desc.enum === undefined
    ? readScalar(scalar, json)
    : readEnum(enums, json, desc, desc.enum);
}

function readEnum(enums: ReadonlyMap<string, number>, json: JsonValue, field: DescField, type: DescEnum): unknown {
  if (typeof json === "string") {
    return enums.get(json) ?? encodeUnknownEnumName(json, field, type);
  }
  return readScalar(ScalarType.INT32, json);
}

function readScalar(scalar: ScalarType, json: JsonValue): unknown {
  switch (scalar) {
    case ScalarType.STRING:
      return typeof json === "string" && json.isWellFormed() ? json : OTHER;
    case ScalarType.BOOL:
      return typeof json === "boolean" ? json : OTHER;
    case ScalarType.BYTES:
      return readBytes(json);
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return typeof json === "number" && (json | 0) === json ? json : OTHER;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return typeof json === "number" && json >>> 0 === json ? json : OTHER;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return readLong(json, BigInt.asIntN);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return readLong(json, BigInt.asUintN);
    case ScalarType.FLOAT:
      return finite(typeof json === "number" ? Math.fround(json) : json);
    case ScalarType.DOUBLE:
      return finite(json);
  }
}

function readBytes(json: JsonValue): unknown {
  const bytes = typeof json === "string" ? decodeBase64(json) : undefined;
  return bytes === undefined ? OTHER : new Uint8Array(bytes);
}

function finite(json: JsonValue): unknown {
  return Number.isFinite(json) ? json : OTHER;
}

/** The digits of integers of 64 bits, and of some that are larger. */
const LONG = /^(?:0|-?[1-9]\d{0,19})$/;

function readLong(json: JsonValue, wrap: (bits: number, value: bigint) => bigint): unknown {
  if (typeof json !== "string" || !LONG.test(json)) {
    return OTHER;
  }
  const value = BigInt(json);
  return wrap(64, value) === value ? value : OTHER;
}
