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
import { HttpBodySchema } from "../../../gen/client/google/api/httpbody_pb.js";
import { INVALID_RESPONSE, invalidResponse, responseError } from "../../base/errors/call-errors.js";
import { ProtocolError } from "../../base/errors/index.js";
import { assertDescriptor, invalidTypeError } from "../../base/input/assert.js";
import { ElementCount, elementsOf, MAX_ELEMENTS, parseJson, setSize } from "./answer-size.js";
import { anyToObject, knownTypes, toWholeJson } from "./any.js";
import { httpBodyFromJson } from "./http-body.js";
import { isJsonObject } from "./json-values.js";
import { plainFromJson } from "./plain-json.js";
import {
  decodeUnknownEnumName,
  encodeUnknownEnumName,
  exactInteger,
  isAny,
  messageTypesIn,
  nearestFloat,
  replaceValues,
  signedZero,
} from "./protobuf-json.js";

/**
 * Converts the JSON of a node's message to the message.
 *
 * Ignores unknown fields, because protobuf-es stores fields by number, and JSON has no numbers. Unknown enum values remain;
 * see `enumName`.
 *
 * @throws {@link ProtocolError} if it does not fit the definitions
 * @throws {@link ProtocolError} with `RESOURCE_EXHAUSTED` if it has more elements than a response may have
 */
export function messageFromJson<O extends DescMessage>(
  desc: O,
  json: JsonValue,
  registry: Registry = knownTypes,
  size = 0,
): MessageShape<O> {
  if (isHttpBody(desc)) {
    return withSize(ofType(desc, httpBodyFromJson(json)), size);
  }
  const count = new ElementCount(size);
  return withSize(convert(desc, json, registry, count), count.size());
}

/**
 * Converts the JSON of a node's message as {@link messageFromJson} does, but does not record its size. Elements are counted only if
 * the number of bytes that the JSON had allows for too many.
 *
 * @throws {@link ProtocolError} if it does not fit the definitions
 * @throws {@link ProtocolError} with `RESOURCE_EXHAUSTED` if it has more elements than a response may have
 */
export function unsizedMessageFromJson<O extends DescMessage>(
  desc: O,
  json: JsonValue,
  registry: Registry = knownTypes,
  bytes: number,
): MessageShape<O> {
  const isCounted = bytes * largestElement(desc) > MAX_ELEMENTS; // A message takes two bytes or more.
  return convert(desc, json, registry, isCounted ? new ElementCount(bytes) : undefined);
}

const largestElements = new WeakMap<DescMessage, number>();

/** Returns the largest number of elements that one message counts as, of those that messages of a type can contain. */
function largestElement(desc: DescMessage): number {
  const known = largestElements.get(desc);
  if (known !== undefined) {
    return known;
  }
  const types = [...messageTypesIn(desc)];
  const largest = types.some(isAny) ? Number.POSITIVE_INFINITY : Math.max(0, ...types.map(elementsOf));
  largestElements.set(desc, largest);
  return largest;
}

function convert<O extends DescMessage>(
  desc: O,
  json: JsonValue,
  registry: Registry,
  count: ElementCount | undefined,
): MessageShape<O> {
  try {
    const plain = plainFromJson(desc, json, count);
    if (plain !== undefined) {
      return ofType(desc, plain);
    }
    count?.restart();
    const replacements =
      count === undefined ? INCOMING : { ...INCOMING, onMessage: (type: DescMessage) => count.add(elementsOf(type)) };
    const converted = replaceValues(desc, json, registry, replacements);
    return fromJson(desc, converted, { registry, ignoreUnknownFields: true });
  } catch (cause) {
    throw cause instanceof ProtocolError ? cause : responseError(invalidResponse(cause), { cause });
  }
}

/**
 * Parses the JSON of a response.
 *
 * @throws {@link ProtocolError} if it is not JSON
 * @throws {@link ProtocolError} with `RESOURCE_EXHAUSTED` if it has more elements than a response may have
 */
export function parseResponseJson(bytes: Uint8Array, parse = parseJson): JsonValue {
  try {
    return parse(bytes);
  } catch (cause) {
    throw cause instanceof ProtocolError ? cause : responseError(INVALID_RESPONSE, { cause });
  }
}

/** The values of a response that protobuf-es would lose, round or reject. */
const INCOMING = { enums: encodeUnknownEnumName, integers: exactInteger, longs: exactInteger, floats: nearestFloat };
/** The values that protobuf-es would format differently from their original. */
const OUTGOING = { enums: decodeUnknownEnumName, floats: signedZero, doubles: signedZero };

/**
 * Converts a request to JSON. Enum values have the names that a node sent, and a negative zero keeps its sign.
 *
 * @throws Error if the message contains an `Any` of an unknown type
 */
export function requestToJson<I extends DescMessage>(desc: I, message: MessageShape<I>, registry: Registry): JsonValue {
  return replaceValues(desc, toJson(desc, message, { registry }), registry, OUTGOING);
}

/**
 * Converts a node's message to JSON. Enum values have the names that the node sent, and fields that have their default are
 * included.
 *
 * @param desc the message's descriptor, such as `StopOrderEventSchema`
 * @param message the message
 * @param registry the types whose fields are written in an `Any`, by default those of error details; of other types, the bytes
 *   are written as base64, in `value`
 * @returns the message in Protobuf's JSON
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
  assertDescriptor(desc, "message", "StopOrderSchema");
  if (!isMessage(message, desc)) {
    throw invalidTypeError("message", message, `a message of type ${desc.typeName}`);
  }
  if (isMessage(message, HttpBodySchema)) {
    const { contentType, data, extensions } = message;
    const objects = extensions.map((any) => ({ ...anyToObject(any, registry) }));
    return { contentType, data: Buffer.from(data).toString("base64"), extensions: objects };
  }
  const json = toWholeJson(desc, message, registry);
  const object = isJsonObject(json) ? { ...json } : {};
  replaceValues(desc, object, registry, { enums: decodeUnknownEnumName });
  return object;
}

/** Returns a function that makes `JSON.stringify` write messages of a type as {@link messageToJson} does. */
export function writingJson(desc: DescMessage, registry?: Registry): <M extends Message>(message: M) => M {
  function value(this: Message): unknown {
    return jsonOf(desc, this, registry);
  }
  const property = { value };
  return (message) => {
    Reflect.defineProperty(message, "toJSON", property);
    return message;
  };
}

export function jsonOf(desc: DescMessage, message: Message, registry?: Registry): unknown {
  return isMessage(message, desc) ? messageToJson(desc, message, registry) : message;
}

/** Returns whether a message type is `google.api.HttpBody`. */
export function isHttpBody(desc: DescMessage): boolean {
  return desc.typeName === HttpBodySchema.typeName;
}

/** Returns a part of a raw HTTP body as a message. */
export function httpBodyPart<O extends DescMessage>(desc: O, contentType: string, data: Uint8Array): MessageShape<O> {
  return withSize(ofType(desc, create(HttpBodySchema, { contentType, data })), data.length);
}

function withSize<T extends object>(message: T, size: number): T {
  setSize(message, size);
  return message;
}

/** Returns a message of a type that only its descriptor knows. */
export function ofType<O extends DescMessage>(desc: O, message: object): MessageShape<O> {
  if (!isMessage(message, desc)) {
    throw new Error(`expected ${desc.typeName}, but got another type`);
  }
  return message;
}
