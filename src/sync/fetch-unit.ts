import { createHash } from "node:crypto";
import { RequestError } from "../base/errors/index.js";
import { linkedController } from "../base/signal/abort.js";
import type { ArchiveFile } from "../data/archive/archive-files.js";
import { checkFile, noFile, secondFile } from "../data/history/expected-file.js";
import type { FetchUnit, UnitCsv } from "./sink.js";
import type { SyncClient } from "./sync-options.js";
import type { Measures, Unit } from "./unit.js";

/** How a unit is fetched. */
export interface FetchOptions {
  /** Cancels the call at any time, also if the content is never read. */
  readonly signal: AbortSignal;
  /** Called as bytes of the CSV file arrive, with their total so far. An error of it ends the content. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

/**
 * Returns a function that fetches a unit from a node: one export, whose archive must contain only the unit's CSV file.
 *
 * The file's name must match the unit's chain, table and blocks, and its schema version if the name has one. Any other form of
 * name is rejected, because only the name identifies the chain. The header row must have all columns of the unit's schema
 * version. The content ends without an error only after the whole archive and the node's status were checked. Closing the content
 * early cancels the call immediately.
 *
 * @example
 * const csv = await fetchUnit(client, unit, { signal })();
 * await pipeline(csv.content, createWriteStream("unit.csv"));
 * const { rows, sha256 } = csv.measures();
 */
export function fetchUnit(client: SyncClient, unit: Unit, { signal, onBytes }: FetchOptions): FetchUnit {
  return async () => {
    const call = linkedController(signal);
    const { table, fromBlock, toBlock } = unit;
    const exported = client.exportNetworkHistory({ table, fromBlock, toBlock }, { signal: call.signal });
    const files = exported.files()[Symbol.asyncIterator]();
    const abort = () => call.abort();
    const close = async () => {
      abort();
      await Promise.resolve(files.return?.()).catch(() => undefined); // The call has ended in any case.
    };
    try {
      const file = await files.next();
      if (file.done === true) {
        throw noFile(unit);
      }
      checkFile(file.value, unit);
      return unitCsv(file.value, { files, unit, abort, close, onBytes });
    } catch (reason) {
      await close();
      throw reason;
    }
  };
}

/** Reads the bytes of a CSV file. Returns its size and checksum. */
export async function* measured(
  file: Pick<ArchiveFile, "content">,
  onBytes?: (size: number) => void,
): AsyncGenerator<Uint8Array, Measures, undefined> {
  const hash = createHash("sha256");
  const bytes = file.content();
  let size = 0;
  let part = await bytes.next();
  for (; part.done !== true; part = await bytes.next()) {
    hash.update(part.value);
    size += part.value.length;
    onBytes?.(size);
    yield part.value;
  }
  return { rows: BigInt(part.value.rows), bytes: BigInt(part.value.bytes), sha256: hash.digest("hex") };
}

/** An export whose first file is the unit's. */
interface UnitExport {
  readonly files: AsyncIterator<ArchiveFile>;
  readonly unit: Unit;
  /** Cancels the call, so that a pending read fails. */
  readonly abort: () => void;
  /** Cancels the call, and closes the archive while no read is pending. */
  readonly close: () => Promise<void>;
  readonly onBytes: ((bytes: number) => void) | undefined;
}

function unitCsv(file: ArchiveFile, { files, unit, abort, close, onBytes }: UnitExport): UnitCsv {
  let measures: Measures | undefined;
  let isRead = false;

  async function* content(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      const found = yield* measured(file, onBytes);
      const second = await files.next(); // After the last file come the archive's directory and the node's status.
      if (second.done !== true) {
        throw secondFile(unit, second.value);
      }
      measures = found;
    } finally {
      await close();
    }
  }

  return {
    columns: file.columns,
    content: {
      [Symbol.asyncIterator]() {
        if (isRead) {
          throw new RequestError(`the content of ${unitText(unit)} was already read`, {
            advice: "Read it once. To read it again, fetch the unit again.",
          });
        }
        isRead = true;
        const parts = content();
        return {
          next: () => parts.next(),
          return() {
            abort(); // A generator would wait for the pending read first.
            return parts.return().finally(close);
          },
        };
      },
    },
    measures() {
      if (measures === undefined) {
        throw new RequestError(`${unitText(unit)} is not complete, so its size is unknown`, {
          advice: "Read its content to the end first.",
        });
      }
      return measures;
    },
  };
}

function unitText({ table, fromBlock, toBlock }: Unit): string {
  return `${table}, blocks ${fromBlock} to ${toBlock},`;
}
