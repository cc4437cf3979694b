import { type DescMessage, isMessage, type JsonObject, type MessageShape, type Registry } from "@bufbuild/protobuf";
import { HttpBodySchema } from "../../../gen/google/api/httpbody_pb.js";
import { ProtocolError } from "../../errors/index.js";
import { anyToObject } from "../../json/any.js";
import { messageToJson } from "../../json/message.js";

/**
 * Write a message that a node sent as JSON.
 *
 * @param desc the message's descriptor
 * @param message the message
 * @param registry the types that an `Any` in it may hold
 * @returns Protobuf's JSON, with fields at their defaults
 * @throws {@link ProtocolError} if the message holds an `Any` of a type that the definitions lack
 */
export function answerJson<O extends DescMessage>(desc: O, message: MessageShape<O>, registry: Registry): JsonObject {
  if (isMessage(message, HttpBodySchema)) {
    const { contentType, data, extensions } = message;
    // Extensions of unknown types are written as they came.
    return { contentType, data: Buffer.from(data).toString("base64"), extensions: extensions.map(object) };
  }
  try {
    return messageToJson(desc, message, registry);
  } catch (cause) {
    throw new ProtocolError(`the answer cannot be written as JSON: ${cause instanceof Error ? cause.message : cause}`, {
      advice: "Give definitions that have the type, with --proto.",
      cause,
    });
  }
}

function object(any: Parameters<typeof anyToObject>[0]): JsonObject {
  return { ...anyToObject(any) };
}
