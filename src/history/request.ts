import { Table } from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import type { ExportedRange } from "../archive/names.js";
import { requireKnown } from "../errors/check-values.js";
import { RequestError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import { misfit } from "../given/misfit.js";
import { readTable, type TableName } from "../schema/tables.js";
import {
  type BlockRange,
  checkRange,
  contiguousSpans,
  nearestText,
  type RangeCheck,
  type SegmentHeights,
  snapRange,
} from "./segments.js";

/** The request for an export (specification, 4.1). */
export interface ExportRequest<Asked extends TableName = TableName> {
  /** First block: the first of a history segment. */
  readonly fromBlock: bigint | number;
  /** Last block, inclusive: the last of a history segment. */
  readonly toBlock: bigint | number;
  /** The table, by its enum number, its enum name (`TABLE_TRADES`) or the name that archives carry (`trades`). */
  readonly table: Table | Asked | `TABLE_${Uppercase<Asked>}`;
}

/**
 * Check the request for an export, as far as that can be done without the node (specification, 4.1).
 *
 * @param request the table and the blocks, both ends inclusive
 * @returns the table by name and enum number, and the range
 * @throws {@link RequestError} where the table is unknown, a block is no positive whole number, or the range is
 *   reversed
 */
export function readExportRequest(request: ExportRequest): ExportedRange & { tableNumber: Table } {
  requireKnown("request", request, { table: true, fromBlock: true, toBlock: true });
  const { fromBlock, toBlock, table } = request;
  const name = readTable(table);
  const range = { fromBlock: readBlock(fromBlock, "fromBlock"), toBlock: readBlock(toBlock, "toBlock") };
  requireOrder(range);
  return { ...range, table: name, tableNumber: Table[upper(name)] };
}

/**
 * Refuse a range that ends before it begins.
 *
 * @param range both ends inclusive
 * @throws {@link RequestError} where it does
 */
export function requireOrder({ fromBlock, toBlock }: BlockRange): void {
  if (fromBlock > toBlock) {
    throw new RequestError(`fromBlock ${fromBlock} is behind toBlock ${toBlock}`, {
      advice: "Give the first block of the range as fromBlock and its last as toBlock.",
    });
  }
}

/**
 * Make a function that gives the range to export. With `check` or `snap` its first call lists the node's segments;
 * later calls use the same answer.
 *
 * @param asked the table and range that were asked for
 * @param options `check` compares the range with the segments, `snap` widens it to their boundaries
 * @param listSegments asks the node for its segments, in the order of their heights
 * @returns the function; it fails with a {@link RequestError} where the node's segments do not make up the range
 */
export function exportRange(
  asked: ExportedRange,
  { check = false, snap = false }: { readonly check?: boolean | undefined; readonly snap?: boolean | undefined },
  listSegments: () => Promise<readonly SegmentHeights[]>,
): () => Promise<ExportedRange> {
  let taken: Promise<ExportedRange> | undefined;

  async function take(): Promise<ExportedRange> {
    if (!check && !snap) {
      return asked;
    }
    const segments = await listSegments();
    const found = (snap ? snapRange : checkRange)(segments, asked);
    if (!found.valid) {
      throw rangeError(found, segments, asked);
    }
    const [span = asked] = contiguousSpans(found.segments);
    return { ...asked, fromBlock: span.fromBlock, toBlock: span.toBlock };
  }

  return () => {
    taken ??= take().catch((reason: unknown) => {
      taken = undefined; // A failure is not kept, so the next call asks again.
      throw reason;
    });
    return taken;
  };
}

/**
 * The error for a range that the node's segments do not make up. It names the ranges that could be exported instead.
 *
 * @param check the problem and the nearest range
 * @param segments the node's segments, in the order of their heights
 * @param asked the range that was asked for
 * @param cause what was caught, if anything
 * @returns the error
 */
export function rangeError(
  { problem, nearest }: Extract<RangeCheck<SegmentHeights>, { valid: false }>,
  segments: readonly SegmentHeights[],
  asked: BlockRange,
  cause?: unknown,
): RequestError {
  const wider = snapRange(segments, asked);
  const [widened] = wider.valid ? contiguousSpans(wider.segments) : [];
  const snapped = widened === undefined ? "" : `; snap takes ${widened.fromBlock} to ${widened.toBlock}`;
  return new RequestError(problem, { advice: `Correct the range: ${nearestText(nearest)}${snapped}.`, cause });
}

function upper(name: TableName): Uppercase<TableName> {
  return name.toUpperCase() as Uppercase<TableName>;
}

/** What was given, in an error: programs without types give anything. */
function shown(value: unknown): string {
  return typeof value === "string" ? quoted(value) : String(value);
}

/**
 * Read the height of a block.
 *
 * @param value the height, from 1
 * @param name what it is, for the error
 * @returns the height
 * @throws {@link RequestError} where it is no positive whole number of 64 bits
 */
export function readBlock(value: bigint | number, name: string): bigint {
  const whole = typeof value === "bigint" || Number.isSafeInteger(value) ? BigInt(value) : 0n;
  if (typeof value === "string" && /^\d{1,19}$/.test(value)) {
    throw misfit(name, value, `a whole number, ${value}`);
  }
  if (whole < 1n || whole >= 2n ** 63n) {
    throw new RequestError(`${name} is ${shown(value)}, which is no block`, {
      advice:
        "Blocks are whole numbers from 1; history segments begin at 1, 1001, 2001 and so on where they are of 1000 blocks.",
    });
  }
  return whole;
}
