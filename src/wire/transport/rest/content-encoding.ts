import { pipeline } from "node:stream";
import { createBrotliDecompress, createGunzip } from "node:zlib";
import { BROKEN_COMPRESSION, responseError, UNEXPECTED_COMPRESSION } from "../../../base/errors/call-errors.js";
import { isError } from "../../../base/errors/node-errors.js";

/** The parts of a body: as they arrive, or after they have arrived. */
export type BodyParts = AsyncIterable<Uint8Array> | readonly Buffer[];

/** The known content encodings. Node 20 has no zstd. */
const DECODERS = new Map([
  ["gzip", createGunzip],
  ["br", createBrotliDecompress],
]);

/** The value of `accept-encoding` for a body that may be compressed. */
export const ACCEPTED_ENCODINGS: string = [...DECODERS.keys()].join(", ");

/** Returns whether a body has no content encoding, or a known one. */
export function isReadable(header: Headers): boolean {
  const encoding = encodingOf(header);
  return encoding === IDENTITY || DECODERS.has(encoding);
}

/**
 * Returns the decompressed body, part by part: its reader decides when to stop. A proxy may compress a body although the request
 * does not accept that.
 *
 * @throws {@link ProtocolError} if the content encoding is unknown. If the data is corrupt, the iteration throws it.
 */
export function decoded<Body extends BodyParts>(header: Headers, body: Body): Body | AsyncIterable<Uint8Array> {
  const encoding = encodingOf(header);
  if (encoding === IDENTITY) {
    return body;
  }
  const createDecoder = DECODERS.get(encoding);
  if (createDecoder === undefined) {
    throw responseError(UNEXPECTED_COMPRESSION);
  }
  return decompressed(body, createDecoder());
}

const IDENTITY = "identity";

/** Returns the content encoding of a body, in lower case. */
function encodingOf(header: Headers): string {
  return header.get("content-encoding")?.toLowerCase() ?? IDENTITY;
}

/** The codes of Node's errors for corrupt data, of zlib and of Brotli. */
const CORRUPT = /^(Z_|ERR__ERROR_|ERR_BROTLI_)/;

async function* decompressed(body: BodyParts, decoder: ReturnType<typeof createGunzip>): AsyncGenerator<Uint8Array> {
  try {
    yield* pipeline(body, decoder, () => undefined); // The iteration throws the error.
  } catch (cause) {
    throw isError(cause) && "code" in cause && CORRUPT.test(String(cause.code))
      ? responseError(BROKEN_COMPRESSION, { cause })
      : cause;
  }
}
