import { Code } from "../base/errors/code.js";
import { NodeError, RequestError } from "../base/errors/index.js";
import type { ArchiveFile } from "../data/archive/index.js";
import { type RowFilter, rowTest } from "../data/archive/row-filter.js";
import type { BlockRange } from "../data/history/segments.js";
import { type AskedPart, type SelectedBlocks, selectBlocks } from "../data/history/select-blocks.js";
import type { TableName } from "../data/schema/table-names.js";
import type { Client, ExportOptions } from "../index.js";
import { timesOf } from "./row-selection.js";

/** The codes with which nodes refuse a range. Older nodes respond with `Internal`. */
const RANGE_REFUSED = new Set([Code.InvalidArgument, Code.Internal]);

/** Returns whether an error may be a node's refusal of a range. */
export function isRefusal(reason: unknown): reason is NodeError {
  return reason instanceof NodeError && RANGE_REFUSED.has(reason.code);
}

/** The part of a table to export. */
export interface ExportedPart {
  readonly client: Client;
  readonly table: TableName;
  readonly part: AskedPart;
  /** Which rows of the part to print. */
  readonly owners: Pick<RowFilter, "markets" | "parties">;
  /** The options of the export. With `snap`, the rows of complete segments are printed. */
  readonly options: ExportOptions;
}

/** Finds the segments of a part of the node's history. */
export async function selectPart({ client, part, options }: ExportedPart): Promise<SelectedBlocks> {
  const { signal, extensions } = options;
  return selectBlocks(await client.listSegments({ signal }), part, timesOf(client, { signal, extensions }));
}

/** Returns the range if it needs no node to be known. */
export function exactRange({ fromBlock, toBlock, since, until }: AskedPart): BlockRange | undefined {
  const isExact = fromBlock !== undefined && fromBlock >= 0n && toBlock !== undefined && toBlock >= 0n;
  return isExact && since === undefined && until === undefined ? { fromBlock, toBlock } : undefined;
}

/**
 * Reads the files of a part of a table. A range whose boundaries are not those of segments is widened to complete segments, once the node has
 * refused it; the test of each file's rows leaves the part.
 */
export function partFiles(asked: ExportedPart) {
  const { client, table, part, owners, options } = asked;
  let filter: RowFilter = owners;
  const open = (range: BlockRange, snap: boolean) =>
    client.exportNetworkHistory({ table, ...range }, { ...options, snap }).files();

  async function* files(): AsyncGenerator<ArchiveFile> {
    const exact = exactRange(part);
    let refusal: NodeError | undefined;
    if (exact !== undefined) {
      let hasBegun = false;
      try {
        for await (const file of open(exact, options.snap === true)) {
          hasBegun = true;
          yield file;
        }
        return;
      } catch (reason) {
        if (hasBegun || options.snap === true || !isRefusal(reason)) {
          throw reason;
        }
        refusal = reason;
      }
    }
    const selected = selectPart(asked).catch((reason: unknown) => {
      throw reason instanceof RequestError ? reason : (refusal ?? reason);
    });
    const { fromBlock, toBlock, filter: times } = await selected;
    if (refusal !== undefined && fromBlock === part.fromBlock && toBlock === part.toBlock) {
      throw refusal; // The range was not the reason.
    }
    filter = options.snap === true ? owners : { ...owners, ...times };
    yield* open({ fromBlock, toBlock }, false);
  }

  return { files: files(), testOf: (file: ArchiveFile) => rowTest(filter, { ...file, table, columns: file.columns }) };
}
