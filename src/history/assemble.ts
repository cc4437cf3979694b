import { Code } from "@connectrpc/connect";
import { brokenAnswer, notOfTheInterface } from "../errors/broken-answer.js";
import { NodeError, ProtocolError } from "../errors/index.js";
import { isTypeUrl } from "../json/any.js";
import { createErrorTail } from "../json/error-tail.js";
import { checkEnd, createArchiveEnd } from "../zip/end.js";
import type { ExportChunk, ExportResult } from "./chunks.js";

/** The media type of an export's body (specification, 4.1). */
export const ARCHIVE_TYPE = "application/zip";

/** How many chunks without data may follow one another. Each could otherwise be followed by one more. */
const MAX_EMPTY_CHUNKS = 1000;

/** The rules that a stream of chunks must keep. */
export interface AssembleOptions {
  /**
   * Whether the first chunk must carry extensions. The specification (2.7) requires them; deployed v0.78 nodes send
   * none, and a raw HTTP body cannot carry any.
   */
  readonly extensions: "required" | "optional";
}

/**
 * Check a stream of chunks against the rules of an export (specification, 2.7 and 4.1), and pass its results on.
 *
 * The data of all results, joined, is one ZIP archive. It is known to be whole only after the last result.
 *
 * @param chunks the chunks of one export; their errors are thrown unchanged
 * @param options whether the first chunk must carry extensions
 * @returns the results; bytes behind the archive are left out
 * @throws {@link NodeError} where a chunk is an error, or an error object follows the archive
 * @throws {@link ProtocolError} where there are no chunks, extensions are missing, the content type is wrong, or the
 *   archive is cut short, corrupt, or followed by other bytes
 *
 * @example
 * for await (const { data } of assemble(chunks, { extensions: "required" })) file.write(data);
 */
export async function* assemble(
  chunks: AsyncIterable<ExportChunk>,
  { extensions }: AssembleOptions,
): AsyncGenerator<ExportResult> {
  const end = createArchiveEnd();
  const tail = createErrorTail();
  let last: ExportResult | undefined;
  let number = 0;
  let begun = false;
  let empty = 0;
  for await (const chunk of chunks) {
    number += 1;
    if (chunk.error !== undefined) {
      throw new NodeError(chunk.error);
    }
    const { result } = chunk;
    checkContentType(result, number);
    checkExtensions(result, number, extensions);
    last = result;
    empty = result.data.length === 0 ? empty + 1 : 0;
    if (empty > MAX_EMPTY_CHUNKS) {
      throw broken(
        `the export has more than ${MAX_EMPTY_CHUNKS} empty chunks in a row, the limit`,
        "Nothing comes any more; try again, then another node.",
        Code.ResourceExhausted,
      );
    }
    const free = tail.push(result.data);
    if (!begun && free.length > 0) {
      checkBeginning(free);
      begun = true;
    }
    const data = end.push(free);
    if (data.length > 0 || number === 1) {
      yield { ...result, data };
    }
  }
  if (last === undefined) {
    throw broken(
      "the stream of the export is empty: it held no chunk",
      "Check the node; it ended the export with no data.",
    );
  }
  const { rest, error } = tail.finish();
  const data = end.push(rest);
  if (data.length > 0) {
    yield { ...last, data };
  }
  if (error !== undefined) {
    throw error;
  }
  checkEnd(end);
}

function checkContentType({ contentType, data }: ExportResult, number: number): void {
  const mediaType = contentType.split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType === "text/html") {
    throw brokenAnswer(notOfTheInterface(mediaType), beginning(data)); // A raw body keeps the type of its response.
  }
  // Chunks after the first may leave the content type out.
  if (mediaType !== ARCHIVE_TYPE && (number === 1 || mediaType !== "")) {
    const found = contentType === "" ? "none" : JSON.stringify(contentType.slice(0, 80));
    throw broken(
      `the content type of chunk ${number} is ${found}, not "${ARCHIVE_TYPE}"${beginning(data)}`,
      "Check that the URL is the node's own: something else may have answered.",
      Code.Internal,
    );
  }
}

function checkExtensions({ extensions }: ExportResult, number: number, rule: "required" | "optional"): void {
  if (number === 1 && rule === "required" && extensions.length === 0) {
    throw broken(
      "the first chunk carries no extensions",
      'The specification requires them; where the node sends none, as deployed v0.78 nodes do, set extensions to "optional".',
    );
  }
  for (const { "@type": typeUrl } of extensions) {
    if (!isTypeUrl(typeUrl)) {
      throw broken(
        `an extension of chunk ${number} has the @type ${JSON.stringify(typeUrl.slice(0, 80))}`,
        "A type URL was expected, with a slash before the type's name; report it to who runs the node.",
      );
    }
  }
}

function checkBeginning(data: Uint8Array): void {
  const signature = Buffer.from([0x50, 0x4b]);
  if (!signature.subarray(0, data.length).equals(data.subarray(0, 2))) {
    throw broken(
      `the body is no ZIP archive${beginning(data)}`,
      "Check that the URL is the node's own: something else may have answered.",
    );
  }
}

function beginning(data: Uint8Array): string {
  return data.length === 0 ? "" : `; it begins with ${quote(data, 60)}`;
}

function quote(data: Uint8Array, length: number): string {
  return JSON.stringify(Buffer.from(data.subarray(0, length)).toString("latin1"));
}

function broken(summary: string, advice: string, code = Code.DataLoss): ProtocolError {
  return new ProtocolError(summary, { code, advice });
}
