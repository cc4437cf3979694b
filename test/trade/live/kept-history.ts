import type { HistorySegment } from "tradewire";
import { segments } from "../../support/made-history.js";
import { archiveOf, tableCsv } from "../../support/table-csv.js";
import { type FollowClient, openArchive } from "./inside.js";

/** A node that has blocks as history, in segments of 10 as `segments` makes them. Everything may be changed. */
export interface KeptHistory extends FollowClient {
  /** What it lists, or fails with; a list goes on from the last one. */
  listed: HistorySegment[];
  /** The heights in the rows of the segments, by number. */
  heights: readonly (readonly number[])[];
  /** Which share of the next archives comes before they are cut, from 0 to 1; those behind them come whole. */
  cuts: number[];
  /** Further columns by the number of the segment. */
  more: Readonly<Record<number, readonly string[]>>;
  /** How many bytes a piece of an archive has. */
  pieceSize: number;
  /** The first blocks of the exports that were asked for. */
  readonly exported: bigint[];
  readonly listings: () => number;
  /** The bytes that were taken of archives. */
  readonly taken: () => number;
  /** The signals of the calls. */
  readonly signals: (AbortSignal | undefined)[];
}

/** Make such a node. */
export function keptHistory(heights: readonly (readonly number[])[]): KeptHistory {
  let [listings, taken] = [0, 0];
  const node: KeptHistory = {
    listed: segments(1, heights.length),
    heights,
    cuts: [],
    more: {},
    pieceSize: 1000,
    exported: [],
    signals: [],
    listings: () => listings,
    taken: () => taken,
    async listSegments(options) {
      listings += 1;
      node.signals.push(options?.signal);
      return [...node.listed];
    },
    exportNetworkHistory({ fromBlock, toBlock }, { signal, maxRowBytes } = {}) {
      node.exported.push(BigInt(fromBlock));
      node.signals.push(signal);
      const number = Number(toBlock) / 10;
      const name = `chain-1-blocks-116-${fromBlock}-${toBlock}.csv`;
      async function* bytes(): AsyncGenerator<Uint8Array> {
        const rows = (node.heights[number - 1] ?? []).map((height) => ({ height: String(height) }));
        const archive = archiveOf({ [name]: await tableCsv("blocks", 116, rows, { more: node.more[number] ?? [] }) });
        const end = Math.floor((node.cuts.shift() ?? 1) * archive.length);
        for (let at = 0; at < end; at += node.pieceSize) {
          const piece = archive.subarray(at, Math.min(end, at + node.pieceSize));
          taken += piece.length;
          yield piece;
        }
      }
      return openArchive(bytes(), { signal, maxRowBytes });
    },
  };
  return node;
}

/** Make up heights. */
export function counted(sizes: readonly number[]): number[][] {
  let last = 0;
  return sizes.map((size) => Array.from({ length: size }, () => (last += 1)));
}
