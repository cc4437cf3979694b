import { Code } from "@connectrpc/connect";
import { NodeError, ProtocolError } from "../errors/index.js";
import { isTypeUrl } from "../json/any.js";
import { createErrorTail } from "../json/error-tail.js";
import { bodyBeginning, createBodyCheck } from "../json/http-body.js";
import { checkEnd, createArchiveEnd } from "../zip/end.js";
import type { ExportChunk, ExportResult } from "./chunks.js";

/** The media type of an export's body (specification, 4.1). */
export const ARCHIVE_TYPE = "application/zip";

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
  const checkBody = createBodyCheck(ARCHIVE_TYPE);
  let last: ExportResult | undefined;
  let number = 0;
  let begun = false;
  for await (const chunk of chunks) {
    number += 1;
    if (chunk.error !== undefined) {
      throw new NodeError(chunk.error);
    }
    const { result } = chunk;
    checkBody(result);
    checkExtensions(result, number, extensions);
    last = result;
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
      `the body is no ZIP archive${bodyBeginning(data)}`,
      "Check that the URL is the node's own: something else may have answered.",
    );
  }
}

function broken(summary: string, advice: string): ProtocolError {
  return new ProtocolError(summary, { code: Code.DataLoss, advice });
}
