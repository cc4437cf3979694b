import {
  create,
  type DescMessage,
  fromJson,
  isMessage,
  type JsonObject,
  type JsonValue,
  type Message,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.js";
import { brokenAnswer, UNFITTING } from "../errors/broken-answer.js";
import { knownTypes } from "./any.js";
import { nameUnknownEnums, numberUnknownEnums } from "./enums.js";
import { httpBodyFromJson } from "./envelope.js";
import { isJsonObject } from "./values.js";

/**
 * Read a message that a node sent as JSON.
 *
 * Fields that the definitions do not have are ignored: JSON gives them no number to keep them by. Enum values that they do
 * not have are kept; see `enumName`.
 *
 * @param json may be changed
 * @throws {@link ProtocolError} where it does not fit the definitions
 */
export function messageFromJson<O extends DescMessage>(desc: O, json: JsonValue): MessageShape<O> {
  if (isHttpBody(desc)) {
    return ofType(desc, httpBodyFromJson(json));
  }
  numberUnknownEnums(desc, json);
  try {
    return fromJson(desc, json, { registry: knownTypes, ignoreUnknownFields: true });
  } catch (cause) {
    throw brokenAnswer(UNFITTING, "", cause);
  }
}

/** The JSON of a message from a node, with every enum value by the name that it came with, and fields that are at their default. */
export function messageToJson<O extends DescMessage>(desc: O, message: MessageShape<O>): JsonObject {
  const json = toJson(desc, message, { registry: knownTypes, alwaysEmitImplicit: true });
  const object = isJsonObject(json) ? { ...json } : {};
  nameUnknownEnums(desc, object);
  return object;
}

/** Whether a message is an HTTP body, or a piece of one. */
export function isHttpBody(desc: DescMessage): boolean {
  return desc.typeName === HttpBodySchema.typeName;
}

/** A piece of an HTTP body that came as it is. */
export function httpBodyPiece<O extends DescMessage>(desc: O, contentType: string, data: Uint8Array): MessageShape<O> {
  return ofType(desc, create(HttpBodySchema, { contentType, data }));
}

function ofType<O extends DescMessage>(desc: O, message: Message): MessageShape<O> {
  if (!isMessage(message, desc)) {
    throw new Error(`${desc.typeName} was expected, not ${message.$typeName}`);
  }
  return message;
}
