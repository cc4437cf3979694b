import type { ContextValues } from "@connectrpc/connect";
import type { HttpBody } from "../../gen/client/google/api/httpbody_pb.js";
import { batchRecords, decodeCsv } from "../csv/decode.js";
import type { CsvBatch } from "../csv/reader.js";
import { requireKnown, requireOneOf } from "../errors/check-values.js";
import { type Fail, failingWith } from "../errors/failing.js";
import { saveWhole } from "../file/save-whole.js";
import { readTarget } from "../file/target.js";
import { withoutErrorObject } from "../json/error-tail.js";
import { createBodyCheck, mediaTypeOf, requireKnownEnd } from "../json/http-body.js";
import { followingController } from "../signal/follow.js";
import type { LedgerExport, LedgerOptions, SavedLedger } from "./ledger-export.js";
import { ledgerFileNameFor } from "./names.js";
import type { CheckedLedgerRequest } from "./request.js";

const CSV_TYPE = "text/csv";
/** What errors call the body. */
const NAME = "the ledger";

/** The parts of which an export is made. */
export interface LedgerParts {
  readonly request: CheckedLedgerRequest;
  readonly options: LedgerOptions;
  /** Calls the node. */
  readonly open: (
    signal: AbortSignal,
    contextValues: ContextValues | undefined,
  ) => Promise<{ readonly header: Headers; readonly message: AsyncIterable<HttpBody> }>;
  /** Runs `consume`, and runs it once more where the call breaks off and another transport can make it. */
  readonly startingOver: <T>(consume: (contextValues: ContextValues) => Promise<T>) => Promise<T>;
  /** Adds to an error about the body which call it came from. */
  readonly fail: Fail;
}

/**
 * Make an export of the ledger. Nothing is sent before it is consumed.
 *
 * @param parts the request, the caller's options, and how the node is called
 * @returns the export
 */
export function createLedgerExport({ request, options, open, startingOver, fail }: LedgerParts): LedgerExport {
  const { signal, onProgress, maxRowBytes } = options;
  const decoding = { name: NAME, maxRowBytes };

  async function* received(
    contextValues?: ContextValues,
    onHeader: (header: Headers) => void = () => undefined,
  ): AsyncGenerator<Uint8Array> {
    const call = followingController(signal);
    const check = createBodyCheck(CSV_TYPE);
    let [bytes, chunks] = [0, 0];
    try {
      const { header, message } = await open(call.signal, contextValues);
      if (mediaTypeOf(header) === CSV_TYPE) {
        requireKnownEnd(header);
      }
      onHeader(header);
      for await (const part of message) {
        check(part);
        bytes += part.data.length;
        chunks += 1;
        onProgress?.({ bytes, chunks });
        yield part.data;
      }
    } finally {
      call.abort(); // A caller that stops early does not want the rest.
    }
  }

  const body = (...how: Parameters<typeof received>) => withoutErrorObject(received(...how));
  const batches = () => decodeCsv(body(), decoding);

  async function save(target: string, force: boolean, contextValues: ContextValues): Promise<SavedLedger> {
    let header = new Headers();
    const content = body(contextValues, (came) => {
      header = came;
    });
    const fileName = () => ledgerFileNameFor(header, request);
    const { found, ...saved } = await saveWhole(
      content,
      { target, force, fileName },
      {
        passing: (pieces) => counted(decodeCsv(pieces, decoding)),
        written: (_, whole) => whole,
      },
    );
    return { ...saved, ...found };
  }

  return {
    bytes: () => failingWith({ [Symbol.asyncIterator]: () => passedOn(body(), decoding) }, fail),
    rows: () => failingWith({ [Symbol.asyncIterator]: () => batchRecords(batches()) }, fail),
    batches: () => failingWith({ [Symbol.asyncIterator]: batches }, fail),
    async saveTo(target, saving = {}) {
      requireKnown("options", saving, { force: true });
      const { force = false } = saving;
      requireOneOf("force", force, [true, false]);
      const path = await readTarget(target, ".csv");
      return startingOver((contextValues) => save(path, force, contextValues)).catch(fail);
    },
  };
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

/** Pass the bytes of a CSV file on, and see to it that they are a whole one. */
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
