import {
  create,
  type DescMessage,
  fromJson,
  isMessage,
  type JsonObject,
  type JsonValue,
  type Message,
  type MessageShape,
  type Registry,
  toJson,
} from "@bufbuild/protobuf";
import { HttpBodySchema } from "../../gen/client/google/api/httpbody_pb.js";
import { brokenAnswer, UNFITTING } from "../errors/broken-answer.js";
import { requireDescriptor } from "../errors/check-kinds.js";
import { wrong } from "../errors/check-values.js";
import { ProtocolError } from "../errors/index.js";
import { knownTypes } from "./any.js";
import { countElements, elementsOf } from "./element-limit.js";
import { nameUnknownNumber, numberUnknownName } from "./enums.js";
import { httpBodyFromJson } from "./envelope.js";
import { setSize } from "./message-size.js";
import { exactLong, nearestFloat, signedZero } from "./numbers.js";
import { parseJson } from "./parse.js";
import { replaceValues } from "./replace.js";
import { isJsonObject } from "./values.js";

/**
 * Read a message that a node sent as JSON.
 *
 * Fields that the definitions do not have are ignored: protobuf-es keeps fields by number, and JSON has none. Enum
 * values that the definitions do not have are kept; see `enumName`.
 *
 * @param desc the message's descriptor
 * @param json the message in Protobuf's JSON; may be changed
 * @param registry the types that an `Any` in it may hold
 * @param size the size of the JSON, in bytes, as {@link parseAnswer} has stored it; that of the message is stored
 * @returns the message
 * @throws {@link ProtocolError} where it does not fit the definitions
 * @throws {@link ProtocolError} with `RESOURCE_EXHAUSTED` where it has more elements than an answer may have
 */
export function messageFromJson<O extends DescMessage>(
  desc: O,
  json: JsonValue,
  registry: Registry = knownTypes,
  size = 0,
): MessageShape<O> {
  if (isHttpBody(desc)) {
    return sized(ofType(desc, httpBodyFromJson(json)), size);
  }
  const count = countElements(size);
  try {
    const onMessage = (type: DescMessage) => count.add(elementsOf(type));
    const mended = replaceValues(desc, json, registry, { ...INCOMING, onMessage });
    return sized(fromJson(desc, mended, { registry, ignoreUnknownFields: true }), count.size);
  } catch (cause) {
    throw cause instanceof ProtocolError ? cause : brokenAnswer(UNFITTING, "", cause);
  }
}

/**
 * Parse the JSON of an answer.
 *
 * @param bytes the JSON, in UTF-8
 * @returns its value; that of an object or list has its size stored
 * @throws {@link ProtocolError} where it is not JSON
 * @throws {@link ProtocolError} with `RESOURCE_EXHAUSTED` where it has more elements than an answer may have
 */
export function parseAnswer(bytes: Uint8Array): JsonValue {
  try {
    return parseJson(bytes);
  } catch (cause) {
    throw cause instanceof ProtocolError ? cause : brokenAnswer(UNFITTING, "", cause);
  }
}

/** What protobuf-es would lose, round or refuse of an answer. */
const INCOMING = { enums: numberUnknownName, longs: exactLong, floats: nearestFloat };
/** What it would write in another way than it came or is. */
const OUTGOING = { enums: nameUnknownNumber, floats: signedZero, doubles: signedZero };

/**
 * Write a request as JSON. Enum values have the names that a node sent, and a negative zero keeps its sign.
 *
 * @param desc the message's descriptor
 * @param message the message
 * @param registry the types that an `Any` in it may hold
 * @returns the message in Protobuf's JSON, without fields at their default
 * @throws Error where the message holds an `Any` of an unknown type
 */
export function requestToJson<I extends DescMessage>(desc: I, message: MessageShape<I>, registry: Registry): JsonValue {
  return replaceValues(desc, copyOf(toJson(desc, message, { registry })), registry, OUTGOING);
}

/** A copy that may be changed; `structuredClone` takes many times as long for a small request. */
function copyOf(json: JsonValue): JsonValue {
  if (Array.isArray(json)) {
    return json.map(copyOf);
  }
  return isJsonObject(json)
    ? Object.fromEntries(Object.entries(json).map(([key, value]) => [key, copyOf(value)]))
    : json;
}

/**
 * Write a message of a node as JSON. Enum values have the names that the node sent, and fields at their default are
 * included.
 *
 * @param desc the message's descriptor, such as `StopOrderEventSchema`
 * @param message the message
 * @param registry the types that an `Any` in it may hold
 * @returns the message in Protobuf's JSON
 * @throws Error where the message holds an `Any` of an unknown type
 *
 * @example
 * import { vega } from "tradewire/api";
 *
 * messageToJson(vega.StopOrderSchema, stopOrder).status; // "STATUS_PENDING"
 */
export function messageToJson<O extends DescMessage>(
  desc: O,
  message: MessageShape<O>,
  registry: Registry = knownTypes,
): JsonObject {
  requireDescriptor(desc, "message", "StopOrderSchema");
  if (!isMessage(message, desc)) {
    throw wrong("the message", message, `Give a message of the type ${desc.typeName}.`);
  }
  const json = toJson(desc, message, { registry, alwaysEmitImplicit: true });
  const object = isJsonObject(json) ? { ...json } : {};
  replaceValues(desc, object, knownTypes, { enums: nameUnknownNumber });
  return object;
}

/**
 * Whether a message type is `google.api.HttpBody`.
 *
 * @param desc the message's descriptor
 * @returns true for `google.api.HttpBody`
 */
export function isHttpBody(desc: DescMessage): boolean {
  return desc.typeName === HttpBodySchema.typeName;
}

/**
 * Make a message of a piece of a raw HTTP body.
 *
 * @param desc the descriptor of `google.api.HttpBody`
 * @param contentType the content type of the body
 * @param data the bytes of the piece
 * @returns the message, without extensions
 */
export function httpBodyPiece<O extends DescMessage>(desc: O, contentType: string, data: Uint8Array): MessageShape<O> {
  return sized(ofType(desc, create(HttpBodySchema, { contentType, data })), data.length);
}

function sized<T extends object>(message: T, size: number): T {
  setSize(message, size);
  return message;
}

function ofType<O extends DescMessage>(desc: O, message: Message): MessageShape<O> {
  if (!isMessage(message, desc)) {
    throw new Error(`${desc.typeName} was expected, not ${message.$typeName}`);
  }
  return message;
}
