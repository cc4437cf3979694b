import { type DescMessage, fromBinary, type MessageShape, type Registry, toBinary } from "@bufbuild/protobuf";
import { UNFITTING } from "../errors/broken-answer.js";
import { ProtocolError } from "../errors/index.js";
import { isError } from "../errors/is-error.js";
import { requireFewElements } from "../json/element-limit.js";
import { messageFromJson, parseAnswer, requestToJson } from "../json/message.js";
import { setSize, sizeOf } from "../json/message-size.js";
import { CallError } from "./call-failure.js";

/** How messages become bytes, and bytes messages. */
export interface Codec {
  /** Throws any error where the message cannot be written. */
  serialize<I extends DescMessage>(desc: I, message: MessageShape<I>): Uint8Array;
  /** Throws a Connect error, or one of this library's, where the bytes are no such message. */
  parse<O extends DescMessage>(desc: O, bytes: Uint8Array): MessageShape<O>;
}

/** Protobuf's binary form. */
export const protoCodec: Codec = { serialize: toBinary, parse: decodeMessage };

function decodeMessage<O extends DescMessage>(desc: O, bytes: Uint8Array): MessageShape<O> {
  try {
    const size = requireFewElements(desc, bytes);
    const message = fromBinary(desc, bytes);
    setSize(message, size);
    return message;
  } catch (cause) {
    if (cause instanceof ProtocolError) {
      throw cause;
    }
    const reason = isError(cause) ? cause.message : String(cause);
    const message = `a message is no ${desc.typeName}: ${reason}`;
    throw new CallError({ kind: "broken answer", answer: UNFITTING }, { cause, message });
  }
}

/**
 * Make the codec of Protobuf's JSON, which is read and written as the rest of this library does.
 *
 * @param registry the types that an `Any` may hold
 * @returns the codec
 */
export function jsonCodec(registry: Registry): Codec {
  return {
    serialize: (desc, message) => Buffer.from(JSON.stringify(requestToJson(desc, message, registry))),
    parse(desc, bytes) {
      const json = parseAnswer(bytes);
      return messageFromJson(desc, json, registry, sizeOf(json));
    },
  };
}
