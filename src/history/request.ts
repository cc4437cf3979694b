import { Table } from "../../gen/datanode/api/v2/trading_data_pb.js";
import type { ExportedRange } from "../archive/names.js";
import { RequestError } from "../errors/index.js";
import { isTableName, type TableName, tableName, tableNames } from "../schema/tables.js";
import {
  type BlockRange,
  checkRange,
  contiguousSpans,
  nearestText,
  type RangeCheck,
  type SegmentHeights,
  snapRange,
} from "./segments.js";

/** What to export (specification, 4.1). */
export interface ExportRequest {
  /** First block: the first of a history segment. */
  readonly fromBlock: bigint | number;
  /** Last block, inclusive: the last of a history segment. */
  readonly toBlock: bigint | number;
  /** The table, by its enum number, its enum name (`TABLE_TRADES`) or the name that archives carry (`trades`). */
  readonly table: Table | TableName | `TABLE_${Uppercase<TableName>}`;
}

/**
 * Check what an export was asked for, as far as that can be done without the node.
 *
 * @throws {@link RequestError} where the table is unknown, a block is no positive whole number, or the range is reversed
 */
export function readExportRequest({
  fromBlock,
  toBlock,
  table,
}: ExportRequest): ExportedRange & { tableNumber: Table } {
  const name = typeof table === "number" ? tableName(table) : table.replace(/^TABLE_/, "").toLowerCase();
  if (name === undefined || !isTableName(name)) {
    throw new RequestError(`${JSON.stringify(table)} is not a table that can be exported`, {
      advice: `Choose one of: ${tableNames.join(", ")}.`,
    });
  }
  const range = { fromBlock: block(fromBlock, "fromBlock"), toBlock: block(toBlock, "toBlock") };
  if (range.fromBlock > range.toBlock) {
    throw new RequestError(`fromBlock ${fromBlock} is behind toBlock ${toBlock}`, {
      advice: "Give the first block of the range as fromBlock and its last as toBlock.",
    });
  }
  return { ...range, table: name, tableNumber: Table[upper(name)] };
}

/**
 * What tells the range to export: as it was asked for, unless the node's segments are to be asked about it first, which is
 * done once.
 *
 * @throws {@link RequestError} (when called) where the node's segments do not make up the range
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
      taken = undefined; // A failure is not kept: the next one asks again.
      throw reason;
    });
    return taken;
  };
}

/** The error of a range that the node's segments do not make up: it says what could be exported instead. */
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

function block(value: bigint | number, name: string): bigint {
  const whole = typeof value === "bigint" || Number.isSafeInteger(value) ? BigInt(value) : 0n;
  if (whole < 1n || whole >= 2n ** 63n) {
    throw new RequestError(`${name} is ${String(value)}, which is no block`, {
      advice:
        "Blocks are whole numbers from 1; history segments begin at 1, 1001, 2001 and so on where they are of 1000 blocks.",
    });
  }
  return whole;
}
