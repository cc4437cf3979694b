import { type JsonValue, type Registry, toBinary } from "@bufbuild/protobuf";
import { brokenAnswer, UNFITTING } from "../../errors/broken-answer.js";
import { messageFromJson, requestToJson } from "../../json/message.js";
import { decodeUtf8 } from "../../json/values.js";
import { decodeMessage } from "../decode-message.js";
import type { Codec } from "../message-call.js";

/** Protobuf's binary form. */
export const protoCodec: Codec = { serialize: toBinary, parse: decodeMessage };

/**
 * Make the codec of Protobuf's JSON, which is read and written as the rest of this library does.
 *
 * @param registry the types that an `Any` may hold
 * @returns the codec
 */
export function jsonCodec(registry: Registry): Codec {
  return {
    serialize: (desc, message) => Buffer.from(JSON.stringify(requestToJson(desc, message, registry))),
    parse: (desc, bytes) => messageFromJson(desc, parse(bytes), registry),
  };
}

function parse(bytes: Uint8Array): JsonValue {
  try {
    return JSON.parse(decodeUtf8(bytes));
  } catch (cause) {
    throw brokenAnswer(UNFITTING, "", cause);
  }
}
