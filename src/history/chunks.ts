import type { HttpBody } from "../../gen/client/google/api/httpbody_pb.js";
import { requireIterable } from "../errors/check-kinds.js";
import { type ErrorObject, NodeError, type TypedObject } from "../errors/index.js";
import { anyToObject } from "../json/any.js";

/** A part of an export's body (specification, 2.7). */
export interface ExportResult {
  /** The media type of the body. */
  readonly contentType: string;
  /** A part of the archive. */
  readonly data: Uint8Array;
  /** Application metadata; the first chunk must carry some. */
  readonly extensions: readonly TypedObject[];
}

/** One chunk of an export's stream: a result or an error (specification, 2.7). */
export type ExportChunk =
  | { readonly result: ExportResult; readonly error?: undefined }
  | { readonly error: ErrorObject; readonly result?: undefined };

/**
 * Turn the messages of a call into the chunks of an export (specification, 2.7). A message becomes a result, the node's
 * failing status an error.
 *
 * @param messages the messages of `ExportNetworkHistory`, over any transport
 * @returns the chunks; an error is the last one
 * @throws {@link ConnectionError} and all else that the messages throw, unless it is a {@link NodeError}
 *
 * @example
 * const service = client.service(TradingDataService);
 * const chunks = exportChunks(service.exportNetworkHistory({ fromBlock: 1n, toBlock: 1000n, table: Table.TRADES }));
 */
export async function* exportChunks(messages: AsyncIterable<HttpBody>): AsyncGenerator<ExportChunk> {
  requireIterable("messages", messages, "Give the stream that the method answers with.");
  try {
    for await (const message of messages) {
      yield { result: resultOf(message) };
    }
  } catch (reason) {
    if (!(reason instanceof NodeError)) {
      throw reason;
    }
    yield { error: reason.object };
  }
}

/**
 * Turn a message of a call into the result that it carries (specification, 2.7).
 *
 * @param message one of the messages of `ExportNetworkHistory`
 * @returns the result
 */
export function resultOf({ contentType, data, extensions }: HttpBody): ExportResult {
  return { contentType, data, extensions: extensions.map(anyToObject) };
}
