import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";

/**
 * Decode a message that a node sent as Protobuf.
 *
 * @param desc the message's descriptor
 * @param bytes the message
 * @returns the message
 * @throws ConnectError with `INTERNAL` where the bytes are none of it
 */
export function decodeMessage<O extends DescMessage>(desc: O, bytes: Uint8Array): MessageShape<O> {
  try {
    return fromBinary(desc, bytes);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConnectError(`a message is no ${desc.typeName}: ${reason}`, Code.Internal, undefined, undefined, cause);
  }
}
