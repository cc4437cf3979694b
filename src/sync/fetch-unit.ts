import { createHash } from "node:crypto";
import type { ArchiveFile } from "../archive/files.js";
import { RequestError } from "../errors/index.js";
import { checkFile, noFile, secondFile } from "../history/expected-file.js";
import { followingController } from "../signal/follow.js";
import type { SyncClient } from "./options.js";
import type { FetchUnit, UnitCsv } from "./sink.js";
import type { Measures, Unit } from "./unit.js";

/** How a unit is fetched. */
export interface FetchOptions {
  /** Ends the call, whenever: also where the content is never taken. */
  readonly signal: AbortSignal;
  /** Called as bytes of the CSV file arrive, with how many of them there are so far. What it throws ends the content. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

/**
 * Make a function that asks a node for a unit: one export, whose archive must hold the unit's CSV file and nothing else.
 *
 * The file's name must say that it is of the unit's chain, table and blocks and, where it has a schema version, of the
 * unit's; a name of another form is refused, as nothing then says which chain the rows are of. All columns of the unit's
 * schema version must be in the header row. The content ends without an error only after the whole archive, and what the
 * node says behind it, were checked. Leaving it early ends the call at once.
 *
 * @param client asks the node
 * @param unit the unit
 * @param options the signal, which the caller aborts where it does not take the content, and who is told of progress
 * @returns the function; each call of it calls the node. It throws {@link ProtocolError} where the answer is not the
 *   unit, and what `exportNetworkHistory` throws; so does the content while it is read
 *
 * @example
 * const csv = await fetchUnit(client, unit, { signal })();
 * await pipeline(csv.content, createWriteStream("unit.csv"));
 * const { rows, sha256 } = csv.measures();
 */
export function fetchUnit(client: SyncClient, unit: Unit, { signal, onBytes }: FetchOptions): FetchUnit {
  return async () => {
    const call = followingController(signal);
    const { table, fromBlock, toBlock } = unit;
    const exported = client.exportNetworkHistory({ table, fromBlock, toBlock }, { signal: call.signal });
    const files = exported.files()[Symbol.asyncIterator]();
    const abort = () => call.abort();
    const close = async () => {
      abort();
      await Promise.resolve(files.return?.()).catch(() => undefined); // The call is over, however it ended.
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

/** An export whose first file is the unit's. */
interface Fetching {
  readonly files: AsyncIterator<ArchiveFile>;
  readonly unit: Unit;
  /** Ends the call: what waits for the node fails. */
  readonly abort: () => void;
  /** Ends the call and the reading of the archive, where nothing waits. */
  readonly close: () => Promise<void>;
  readonly onBytes: ((bytes: number) => void) | undefined;
}

function unitCsv(file: ArchiveFile, { files, unit, abort, close, onBytes }: Fetching): UnitCsv {
  let measures: Measures | undefined;
  let isTaken = false;

  async function* content(): AsyncGenerator<Uint8Array, void, undefined> {
    const hash = createHash("sha256");
    const bytes = file.content();
    let size = 0;
    try {
      let part = await bytes.next();
      for (; part.done !== true; part = await bytes.next()) {
        hash.update(part.value);
        size += part.value.length;
        onBytes?.(size);
        yield part.value;
      }
      const second = await files.next(); // Behind the last file stand the archive's directory and the node's status.
      if (second.done !== true) {
        throw secondFile(unit, second.value);
      }
      const { rows } = part.value;
      measures = { rows: BigInt(rows), bytes: BigInt(part.value.bytes), sha256: hash.digest("hex") };
    } finally {
      await close();
    }
  }

  return {
    columns: file.columns,
    content: {
      [Symbol.asyncIterator]() {
        if (isTaken) {
          throw new RequestError(`the content of ${unitText(unit)} was taken before`, {
            advice: "Take it once; fetch the unit again to read it again.",
          });
        }
        isTaken = true;
        const parts = content();
        return {
          next: () => parts.next(),
          return() {
            abort(); // A generator first waits for the part that was asked for.
            return parts.return().finally(close);
          },
        };
      },
    },
    measures() {
      if (measures === undefined) {
        throw new RequestError(`${unitText(unit)} has not arrived whole, so it is not known how much it is`, {
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
