import { BROKEN_COMPRESSION, messageTooLarge, UNEXPECTED_COMPRESSION } from "../../../base/errors/call-errors.js";
import { hasErrorCode } from "../../../base/errors/node-errors.js";
import { brokenAnswerError } from "../call-failure.js";
import type { Frame } from "./frames.js";

/** The compression that messages may have in both directions, by gRPC's name. */
export const GZIP = "gzip";

/** The size of the parts that a message is decompressed in, in bytes. */
const MAX_PART_BYTES = 256 * 1024;
const MIN_PART_BYTES = 1024;

/** Loads zlib with the first message that needs it: most calls have none. */
const zlib = () => process.getBuiltinModule("node:zlib");

/**
 * Checks the compression of a response.
 *
 * @throws `CallError` if it is neither `gzip` nor `identity`
 */
export function assertKnownCompression(encoding: string | null): void {
  if (encoding !== null && encoding !== GZIP && encoding !== "identity") {
    throw brokenAnswerError(UNEXPECTED_COMPRESSION);
  }
}

/** Compresses a message. */
export function compress(message: Uint8Array): Frame {
  return { isCompressed: true, bytes: zlib().gzipSync(message) };
}

/**
 * Decompresses a message if it is compressed. It stops at the limit, however far the rest would expand.
 *
 * @throws `CallError` if the message is larger than the limit, if its data is corrupt, or if `encoding` is not `gzip`
 */
export function decompress(
  { isCompressed, bytes }: Frame,
  encoding: string | null,
  maxMessageBytes: number,
): Uint8Array {
  if (!isCompressed) {
    return bytes;
  }
  if (encoding !== GZIP) {
    throw brokenAnswerError(UNEXPECTED_COMPRESSION);
  }
  const chunkSize = Math.min(Math.max(4 * bytes.length, MIN_PART_BYTES), MAX_PART_BYTES);
  try {
    return zlib().gunzipSync(bytes, { chunkSize, maxOutputLength: maxMessageBytes });
  } catch (reason) {
    throw hasErrorCode(reason, "ERR_BUFFER_TOO_LARGE")
      ? brokenAnswerError(messageTooLarge("limits.maxMessageBytes", maxMessageBytes))
      : brokenAnswerError(BROKEN_COMPRESSION, reason);
  }
}
