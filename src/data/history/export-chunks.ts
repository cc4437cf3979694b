import type { JsonObject } from "@bufbuild/protobuf";
import type { HttpBody } from "../../../gen/client/google/api/httpbody_pb.js";
import { Code } from "../../base/errors/code.js";
import { type ErrorObject, NodeError, ProtocolError, type TypedObject } from "../../base/errors/index.js";
import { assertIterable, assertKnownKeys } from "../../base/input/assert.js";
import { snapshot } from "../../base/input/snapshot.js";
import { anyToObject, isTypeUrl } from "../../wire/json/any.js";
import { parseEnvelope } from "../../wire/json/envelope.js";
import { createErrorTail } from "../../wire/json/error-tail.js";
import { createBodyValidator, httpBodyFromJson, quoteBodyStart } from "../../wire/json/http-body.js";
import { parseJsonObjects } from "../../wire/json/json-stream.js";
import { checkEnd, createArchiveEnd } from "../zip/archive-end.js";

/** A part of an export's body. */
export interface ExportResult {
  /** The media type of the body. */
  readonly contentType: string;
  /** A part of the archive. */
  readonly data: Uint8Array;
  /** Application metadata, which the first chunk must contain. */
  readonly extensions: readonly TypedObject[];
}

/** One chunk of an export's stream: a result or an error. */
export type ExportChunk =
  | { readonly result: ExportResult; readonly error?: undefined }
  | { readonly error: ErrorObject; readonly result?: undefined };

/**
 * Converts the messages of a call to the chunks of an export. A message becomes a result, and the
 * node's error status an error.
 *
 * @param messages the messages of `ExportNetworkHistory`, over any transport
 * @returns the chunks; an error is the last one
 * @throws {@link ConnectionError} and other errors of the messages, except a {@link NodeError}
 *
 * @example
 * const service = client.service(TradingDataService);
 * const chunks = exportChunks(service.exportNetworkHistory({ fromBlock: 1n, toBlock: 1000n, table: Table.TRADES }));
 */
export async function* exportChunks(messages: AsyncIterable<HttpBody>): AsyncGenerator<ExportChunk> {
  assertIterable("messages", messages, "the stream that the method returned");
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

export function resultOf({ contentType, data, extensions }: HttpBody): ExportResult {
  return { contentType, data, extensions: extensions.map((any) => anyToObject(any)) };
}

const BODY_FIELDS = new Set(["contentType", "data", "extensions"]);

/**
 * Reads the chunks of an export that was captured as JSON, for {@link assemble}. The capture contains envelopes
 * `{"result": ...}` and `{"error": ...}`, as a gateway sends them, or the bare `HttpBody` objects
 * that `grpcurl` prints. An object may span several lines, and white space between objects is optional.
 *
 * @param source the bytes of the capture, UTF-8, split anywhere
 * @param options `maxBytes` is the maximum size of an object, 64 MiB by default
 * @returns the chunks; an error is the last one
 * @throws {@link ProtocolError} if the capture contains anything else, is truncated inside an object, or an object
 *   exceeds the limit
 *
 * @example
 * for await (const { data } of assemble(capturedChunks(process.stdin), { extensions: "optional" })) file.write(data);
 */
export function capturedChunks(
  source: AsyncIterable<Uint8Array>,
  options: { readonly maxBytes?: number | undefined } = {},
): AsyncGenerator<ExportChunk> {
  assertIterable("source", source, "a stream of the captured bytes, such as process.stdin");
  assertKnownKeys("options", options, { maxBytes: true });
  const { maxBytes = 64 * 1024 * 1024 } = options;
  return exportChunks(bodies(source, maxBytes));
}

async function* bodies(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<HttpBody> {
  for await (const object of parseJsonObjects(source, maxBytes)) {
    if (isBody(object)) {
      yield httpBodyFromJson(object);
      continue;
    }
    const { result, error } = parseEnvelope(object);
    if (error !== undefined) {
      throw new NodeError(error);
    }
    yield httpBodyFromJson(result);
  }
}

/** Whether an object is a bare body. Fields with default values may be omitted, so it can be empty. */
function isBody(object: JsonObject): boolean {
  return Object.keys(object).every((name) => BODY_FIELDS.has(name));
}

/** The media type of an export's body. */
export const ARCHIVE_TYPE = "application/zip";

/** The rules for a stream of chunks. */
export interface AssembleOptions {
  /**
   * Whether the first chunk must contain extensions. The profile `specification` requires them; deployed v0.78 nodes send
   * none, and a raw HTTP body cannot contain any.
   */
  readonly extensions: "required" | "optional";
}

/**
 * Checks a stream of chunks against the rules of an export, and returns its results.
 *
 * The data of all results, joined, is one ZIP archive. Only after the last result is it known to be complete.
 *
 * @param chunks the chunks of one export; their errors are thrown unchanged
 * @param options whether the first chunk must contain extensions
 * @returns the results; bytes after the archive are omitted
 * @throws {@link NodeError} if a chunk is an error, or an error object follows the archive
 * @throws {@link ProtocolError} if there are no chunks, extensions are missing, the content type is wrong, or the
 *   archive is truncated, corrupt, or followed by other bytes
 *
 * @example
 * for await (const { data } of assemble(chunks, { extensions: "required" })) file.write(data);
 */
export function assemble(chunks: AsyncIterable<ExportChunk>, options: AssembleOptions): AsyncGenerator<ExportResult> {
  options = snapshot(options);
  assertIterable("chunks", chunks, "a result of exportChunks() or capturedChunks()");
  assertKnownKeys("options", options, { extensions: true });
  return assembled(chunks, createAssembly({ ...options, hasErrorTail: true }));
}

async function* assembled(chunks: AsyncIterable<ExportChunk>, assembly: Assembly): AsyncGenerator<ExportResult> {
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

/** Checks the results of an export one by one, as {@link assemble} does. */
export interface Assembly {
  /**
   * Adds the next result, or one that continues the chunk of the result before it.
   *
   * @throws as {@link assemble}
   */
  push(result: ExportResult, isContinuation?: boolean): ExportResult | undefined;
  /**
   * Signals the end.
   *
   * @throws as {@link assemble}, after them
   */
  finish(): Iterable<ExportResult>;
}

/**
 * Creates an {@link Assembly}.
 *
 * @param options the rules, and whether a gateway may have appended an error object to the data: to a raw body
 */
export function createAssembly({
  extensions,
  hasErrorTail,
}: AssembleOptions & { readonly hasErrorTail: boolean }): Assembly {
  const end = createArchiveEnd();
  const tail = createErrorTail();
  const checkBody = createBodyValidator(ARCHIVE_TYPE);
  let last: ExportResult | undefined;
  let number = 0;
  let begun = false;
  return {
    push(result, isContinuation = false) {
      number += isContinuation ? 0 : 1;
      checkBody(result, isContinuation);
      checkExtensions(result, number, extensions);
      last = result;
      const free = hasErrorTail ? tail.push(result.data) : result.data;
      if (!begun && free.length > 0) {
        checkBeginning(free);
        begun = true;
      }
      const data = end.push(free);
      return data.length > 0 || number === 1 ? { ...result, data } : undefined;
    },
    *finish() {
      if (last === undefined) {
        throw broken("the stream of the export is empty", "Check the node: it ended the export without data.");
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
      "the first chunk has no extensions",
      'Deployed v0.78 nodes send none: use --profile deployed (`profile` in the configuration), or set extensions to "optional".',
    );
  }
  for (const { "@type": typeUrl } of extensions) {
    if (!isTypeUrl(typeUrl)) {
      throw broken(
        `an extension of chunk ${number} has the invalid @type ${JSON.stringify(typeUrl.slice(0, 80))}`,
        "Expected a type URL, with a slash before the type's name. Report this to the operator of the node.",
      );
    }
  }
}

function checkBeginning(data: Uint8Array): void {
  const signature = Buffer.from([0x50, 0x4b]);
  if (!signature.subarray(0, data.length).equals(data.subarray(0, 2))) {
    throw broken(
      `the response is not a ZIP archive${quoteBodyStart(data)}`,
      "Check that the URL belongs to the node: another server may have answered.",
    );
  }
}

function broken(summary: string, advice: string): ProtocolError {
  return new ProtocolError(summary, { code: Code.DataLoss, advice });
}
