import type { ContextValues } from "@connectrpc/connect";
import type { HttpBody } from "../../../gen/client/google/api/httpbody_pb.js";
import { mapStreamErrors, type ThrowCallError } from "../../base/errors/call-errors.js";
import { type SavedFile, saveAtomically } from "../../base/file/atomic-file.js";
import { readTarget, type SaveTarget } from "../../base/file/save-target.js";
import { assertFunction, assertKnownKeys, assertOneOf, parsePositiveInteger } from "../../base/input/assert.js";
import { CALL_OPTIONS, type CallOptions, validateCallOptions } from "../../base/input/call-options.js";
import { withSnapshots } from "../../base/input/snapshot.js";
import { linkedController } from "../../base/signal/abort.js";
import { assertDelimitedBody, createBodyValidator, mediaTypeOf } from "../../wire/json/http-body.js";
import { isContinuation } from "../../wire/transport/body-parts.js";
import { acceptingParts } from "../../wire/transport/call-context.js";
import type { CsvRecord } from "../csv/csv-format.js";
import type { CsvBatch } from "../csv/csv-parser.js";
import { batchRecords, decodeCsv } from "../csv/decode-csv.js";
import { type CheckedLedgerRequest, ledgerFileNameFor } from "./ledger-request.js";

/** How an export of the ledger is made. */
export interface LedgerOptions extends CallOptions {
  /** Cancels the export. An incomplete file is removed. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each chunk with the numbers of bytes and chunks that have arrived. */
  readonly onProgress?: ((progress: { readonly bytes: number; readonly chunks: number }) => void) | undefined;
  /** Maximum row size in bytes, including quotes and line end; 64 MiB by default. */
  readonly maxRowBytes?: number | undefined;
}

/**
 * Validates the options of a ledger export.
 *
 * @throws {@link RequestError} if an option is unknown or invalid
 */
export function checkLedgerOptions(options: LedgerOptions): void {
  assertKnownKeys("options", options, { ...CALL_OPTIONS, onProgress: true, maxRowBytes: true });
  validateCallOptions(options);
  assertFunction("onProgress", options.onProgress);
  if (options.maxRowBytes !== undefined) {
    parsePositiveInteger("maxRowBytes", options.maxRowBytes, Number.MAX_SAFE_INTEGER);
  }
}

/** A saved export of the ledger. */
export interface SavedLedger extends SavedFile {
  /** The names in the header row. */
  readonly columns: readonly string[];
  /** Number of rows, without the header row. */
  readonly rows: number;
}

/**
 * An export of a party's ledger, which can be consumed in several ways. Each use calls the node again.
 *
 * The body is one CSV file, which has no end marker. It is complete if the call ended without an error, every row has as
 * many fields as the header row, and the last row has a line end. An error object that a gateway appended to the data, or
 * wrote where it was truncated, is the node's error: it cannot be valid CSV, in which each quote in a value is doubled.
 *
 * Every method may throw {@link NodeError} if the node answers with an error, {@link ConnectionError} if it is
 * unreachable or the connection is lost, {@link ProtocolError} if the body is not CSV or is truncated, and
 * {@link CanceledError} if the signal was aborted.
 */
export interface LedgerExport {
  /**
   * Reads the bytes of the CSV file.
   *
   * @returns the bytes, split anywhere; if this throws, the bytes before are not a complete file
   * @throws {@link NodeError}, {@link ConnectionError}, {@link ProtocolError} and {@link CanceledError} as above,
   *   while reading
   */
  bytes(): AsyncIterable<Uint8Array>;
  /**
   * Reads the rows as they arrive.
   *
   * @returns the rows by column name, `null` for NULL; rows before an error are returned before it is thrown
   * @throws {@link NodeError}, {@link ConnectionError}, {@link ProtocolError} and {@link CanceledError} as above,
   *   while reading
   *
   * @example
   * for await (const entry of client.exportLedgerEntries({ partyId }).rows()) console.log(entry["quantity"]);
   */
  rows(): AsyncIterable<CsvRecord>;
  /**
   * Reads the rows as arrays, in batches. This is faster than `rows()`.
   *
   * @returns batches of rows, at least one even if there are no entries
   * @throws {@link NodeError}, {@link ConnectionError}, {@link ProtocolError} and {@link CanceledError} as above,
   *   while reading
   */
  batches(): AsyncIterable<CsvBatch>;
  /**
   * Saves the CSV file completely and verified, or not at all.
   *
   * @param target the path of a file, which ends in `.csv`, or of a folder, which exists or ends in a slash; or
   *   `{ file }` or `{ folder }`. In a folder it gets the node's name for it, if that has the expected form
   * @param options whether an existing file is replaced; false by default
   * @returns the path, size in bytes and SHA-256 of the file, its columns, and its number of rows
   * @throws {@link FileError} if the file cannot be written, or exists; otherwise as above
   *
   * @example
   * const { path, rows } = await client.exportLedgerEntries({ partyId }).saveTo("ledger.csv");
   */
  saveTo(target: SaveTarget, options?: { readonly force?: boolean | undefined }): Promise<SavedLedger>;
}

const CSV_TYPE = "text/csv";
/** The body's name in errors. */
const NAME = "the ledger";

/** The request, and how to call the node. */
export interface LedgerParts {
  readonly request: CheckedLedgerRequest;
  readonly options: LedgerOptions;
  /** Calls the node. */
  readonly open: (
    signal: AbortSignal,
    contextValues: ContextValues | undefined,
  ) => Promise<{ readonly header: Headers; readonly message: AsyncIterable<HttpBody> }>;
  /** Runs `consume`, and runs it again if the call fails midway and another transport is available. */
  readonly startingOver: <T>(consume: (contextValues: ContextValues) => Promise<T>) => Promise<T>;
  /** Adds the name of the call to an error about the body, and throws it. */
  readonly fail: ThrowCallError;
}

/** Creates an export of the ledger. Nothing is sent before it is consumed. */
export function createLedgerExport(parts: LedgerParts): LedgerExport {
  const { request, options, startingOver, fail } = parts;
  const decoding = { name: NAME, maxRowBytes: options.maxRowBytes };

  const body = (call?: BodyCall) => receiveBody(parts, call);
  const batches = () => decodeCsv(body(), decoding);

  async function save(target: string, force: boolean, contextValues: ContextValues): Promise<SavedLedger> {
    let header = new Headers();
    const content = body({
      contextValues,
      onHeader(came) {
        header = came;
      },
    });
    const fileName = () => ledgerFileNameFor(header, request);
    const { found, ...saved } = await saveAtomically(
      content,
      { target, force, fileName },
      {
        consume: (pieces) => counted(decodeCsv(pieces, decoding)),
        verify: (_, whole) => whole,
      },
    );
    return { ...saved, ...found };
  }

  return withSnapshots<LedgerExport>({
    bytes: () => mapStreamErrors({ [Symbol.asyncIterator]: () => passedOn(body(), decoding) }, fail),
    rows: () => mapStreamErrors({ [Symbol.asyncIterator]: () => batchRecords(batches()) }, fail),
    batches: () => mapStreamErrors({ [Symbol.asyncIterator]: batches }, fail),
    async saveTo(target, saving = {}) {
      assertKnownKeys("options", saving, { force: true });
      const { force = false } = saving;
      assertOneOf("force", force, [true, false]);
      const path = await readTarget(target, ".csv");
      return startingOver((contextValues) => save(path, force, contextValues)).catch(fail);
    },
  });
}

interface BodyCall {
  readonly contextValues: ContextValues;
  onHeader(header: Headers): void;
}

/** Calls the node and yields the body of its response, whose parts it validates. */
async function* receiveBody({ options, open }: LedgerParts, from?: BodyCall): AsyncGenerator<Uint8Array> {
  const call = linkedController(options.signal);
  const check = createBodyValidator(CSV_TYPE);
  let [bytes, chunks] = [0, 0];
  try {
    const { header, message } = await open(call.signal, acceptingParts(from?.contextValues));
    if (mediaTypeOf(header) === CSV_TYPE) {
      assertDelimitedBody(header);
    }
    from?.onHeader(header);
    for await (const part of message) {
      check(part, isContinuation(part));
      bytes += part.data.length;
      chunks += isContinuation(part) ? 0 : 1;
      options.onProgress?.({ bytes, chunks });
      yield part.data;
    }
  } finally {
    call.abort(); // A caller that stops early does not need the rest.
  }
}

async function counted(batches: AsyncIterable<CsvBatch>): Promise<{ columns: readonly string[]; rows: number }> {
  let columns: readonly string[] = [];
  let rows = 0;
  for await (const batch of batches) {
    columns = batch.columns;
    rows += batch.rows.length;
  }
  return { columns, rows };
}

/** Passes the bytes of a CSV file through, and throws if it is malformed or truncated. */
async function* passedOn(
  bytes: AsyncIterable<Uint8Array>,
  decoding: { readonly name: string; readonly maxRowBytes: number | undefined },
): AsyncGenerator<Uint8Array> {
  let read: Uint8Array[] = [];
  const taken = () => {
    const pieces = read;
    read = [];
    return pieces.filter(({ length }) => length > 0);
  };
  async function* reading(): AsyncGenerator<Uint8Array> {
    for await (const piece of bytes) {
      read.push(piece);
      yield piece;
    }
  }
  try {
    for await (const _ of decodeCsv(reading(), decoding)) {
      yield* taken();
    }
  } catch (reason) {
    yield* taken();
    throw reason;
  }
  yield* taken();
}
