import { ProtocolError } from "../../base/errors/index.js";
import { timeOf } from "../schema/time-text.js";
import { nameText } from "../zip/zip-format.js";
import type { Exporter, ExportOptions } from "./network-history-export.js";
import type { BlockRange } from "./segments.js";

/** The times of the first and the last of some blocks, in Unix microseconds. */
export interface BlockTimes {
  readonly first: bigint;
  readonly last: bigint;
}

/** Reads the times of the blocks of a range within a segment. */
export type ReadTimes = (segment: BlockRange, range: BlockRange) => Promise<BlockTimes>;

/**
 * Reads when blocks were made, from the table `blocks` of their segment. It takes one export of one segment.
 *
 * @param segment the blocks of a segment
 * @param range the blocks whose times are wanted; all of the segment by default
 * @throws {@link ProtocolError} if the node has no times of these blocks; errors of the export
 */
export async function readBlockTimes(
  client: Exporter,
  segment: BlockRange,
  { fromBlock, toBlock }: BlockRange = segment,
  options: ExportOptions = {},
): Promise<BlockTimes> {
  let [first, last]: readonly (bigint | undefined)[] = [];
  const request = { table: "blocks", fromBlock: segment.fromBlock, toBlock: segment.toBlock } as const;
  for await (const file of client.exportNetworkHistory(request, options).files()) {
    const [height, time] = [file.columns.indexOf("height"), file.columns.indexOf("vega_time")];
    for await (const { rows } of file.batches()) {
      for (const row of rows) {
        const [text, at] = [row[height] ?? "", timeOf(row[time] ?? "")];
        if (at === undefined || !/^\d{1,19}$/.test(text)) {
          throw new ProtocolError(`${nameText(file.name)} has a row without the height or the time of a block`, {
            advice: "Use another node, and report this to the operator of the node.",
          });
        }
        const block = BigInt(text);
        const isWanted = fromBlock <= block && block <= toBlock;
        if (isWanted && (first === undefined || at < first)) {
          first = at;
        }
        if (isWanted && (last === undefined || at > last)) {
          last = at;
        }
      }
    }
  }
  if (first === undefined || last === undefined) {
    throw new ProtocolError(`the node does not say when the blocks ${fromBlock} to ${toBlock} were made`, {
      advice: "Its table blocks lacks them. Select complete segments, without times, or use another node.",
    });
  }
  return { first, last };
}
