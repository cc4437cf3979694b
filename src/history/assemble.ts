import { Code } from "@connectrpc/connect";
import { requireIterable } from "../errors/check-kinds.js";
import { requireKnown } from "../errors/check-values.js";
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
  options: AssembleOptions,
): AsyncGenerator<ExportResult> {
  requireIterable("chunks", chunks, "Give what exportChunks() or capturedChunks() gives.");
  requireKnown("options", options, { extensions: true });
  const assembly = createAssembly(options);
  for await (const { result, error } of chunks) {
    if (error !== undefined) {
      throw new NodeError(error);
    }
    const passed = assembly.push(result);
    if (passed !== undefined) {
      yield passed;
    }
  }
  yield* assembly.finish();
}

/** Holds the results of an export to its rules, one after the other, as {@link assemble} does. */
export interface Assembly {
  /**
   * Take the next result.
   *
   * @param result the result
   * @returns it, with those bytes of these and of earlier ones that certainly belong to the archive; `undefined` where
   *   there are none, but for the first result
   * @throws as {@link assemble}
   */
  push(result: ExportResult): ExportResult | undefined;
  /**
   * Take the end.
   *
   * @returns the bytes that were held back, if any
   * @throws as {@link assemble}, behind them
   */
  finish(): Iterable<ExportResult>;
}

/**
 * Start to check the results of an export.
 *
 * @param options whether the first one must carry extensions
 * @returns the check, to which every result must be pushed
 */
export function createAssembly({ extensions }: AssembleOptions): Assembly {
  const end = createArchiveEnd();
  const tail = createErrorTail();
  const checkBody = createBodyCheck(ARCHIVE_TYPE);
  let last: ExportResult | undefined;
  let number = 0;
  let begun = false;
  return {
    push(result) {
      number += 1;
      checkBody(result);
      checkExtensions(result, number, extensions);
      last = result;
      const free = tail.push(result.data);
      if (!begun && free.length > 0) {
        checkBeginning(free);
        begun = true;
      }
      const data = end.push(free);
      return data.length > 0 || number === 1 ? { ...result, data } : undefined;
    },
    *finish() {
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
    },
  };
}

function checkExtensions({ extensions }: ExportResult, number: number, rule: "required" | "optional"): void {
  if (number === 1 && rule === "required" && extensions.length === 0) {
    throw broken(
      "the first chunk carries no extensions",
      'Deployed v0.78 nodes send none: use --profile deployed (`profile` in the configuration), or set extensions to "optional".',
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
