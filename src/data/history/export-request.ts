import type { Table } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import { tableNumbers } from "../../../gen/names/tables.js";
import { type ErrorText, quoted } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { assertKnownKeys, invalidValueError } from "../../base/input/assert.js";
import type { ExportedRange } from "../archive/export-names.js";
import { readTable, type TableName } from "../schema/table-names.js";
import {
  type BlockRange,
  contiguousSpans,
  type FoundRange,
  findRange,
  nearestText,
  type SegmentHeights,
} from "./segments.js";

/** The request for an export. */
export interface ExportRequest<Asked extends TableName = TableName> {
  /** First block: the first of a history segment. */
  readonly fromBlock: bigint | number;
  /** Last block, inclusive: the last of a history segment. */
  readonly toBlock: bigint | number;
  /** The table, by its enum number, its enum name (`TABLE_TRADES`) or its name in archives (`trades`). */
  readonly table: Table | Asked | `TABLE_${Uppercase<Asked>}`;
}

/**
 * Validates the request for an export, as far as possible without the node.
 *
 * @throws {@link RequestError} if the table is unknown, a block is not a positive integer, or the range is
 *   reversed
 */
export function readExportRequest(request: ExportRequest): ExportedRange & { tableNumber: Table } {
  assertKnownKeys("request", request, { table: true, fromBlock: true, toBlock: true });
  const { fromBlock, toBlock, table } = request;
  const name = readTable(table);
  const range = { fromBlock: readBlock(fromBlock, "fromBlock"), toBlock: readBlock(toBlock, "toBlock") };
  requireOrder(range);
  return { ...range, table: name, tableNumber: tableNumbers[name] };
}

/**
 * Validates that a range does not end before it begins.
 *
 * @throws {@link RequestError} if it is reversed
 */
export function requireOrder({ fromBlock, toBlock }: BlockRange): void {
  if (fromBlock > toBlock) {
    throw reversedRangeError({ fromBlock, toBlock });
  }
}

export function reversedRangeError({ fromBlock, toBlock }: BlockRange): RequestError {
  return new RequestError((nameOf) => `${fromBlock} is after ${nameOf("toBlock")} ${toBlock}`, {
    option: "fromBlock",
    errorCode: "TW_BLOCK_RANGE",
    advice: (nameOf) =>
      `Set ${nameOf("fromBlock")} to the first block of the range, and ${nameOf("toBlock")} to the last.`,
  });
}

/**
 * Returns a function that resolves the range to export. With `check` or `snap`, its first call lists the node's
 * segments, and later calls use the same answer.
 */
export function exportRange(
  asked: ExportedRange,
  { check = false, snap = false }: { readonly check?: boolean | undefined; readonly snap?: boolean | undefined },
  listSegments: () => Promise<readonly SegmentHeights[]>,
): () => Promise<ExportedRange> {
  let resolved: Promise<ExportedRange> | undefined;

  async function take(): Promise<ExportedRange> {
    if (!check && !snap) {
      return asked;
    }
    const segments = await listSegments();
    const found = findRange(segments, asked, { snap });
    if (!found.valid) {
      throw rangeError(found, segments, asked);
    }
    const [span = asked] = contiguousSpans(found.segments);
    return { ...asked, fromBlock: span.fromBlock, toBlock: span.toBlock };
  }

  return () => {
    resolved ??= take().catch((reason: unknown) => {
      resolved = undefined; // A failure is not cached, so the next call retries.
      throw reason;
    });
    return resolved;
  };
}

/** Returns the error for a range that the node's segments do not form, with the ranges that can be exported instead. */
export function rangeError(
  { problem, nearest }: Extract<FoundRange<SegmentHeights>, { valid: false }>,
  segments: readonly SegmentHeights[],
  asked: BlockRange,
  cause?: unknown,
): RequestError {
  const wider = findRange(segments, asked, { snap: true });
  const [widened] = wider.valid ? contiguousSpans(wider.segments) : [];
  const advice: ErrorText = (nameOf) => {
    const snapped =
      widened === undefined ? "" : `; ${nameOf("snap")} widens it to ${widened.fromBlock} to ${widened.toBlock}`;
    return `Correct the range: ${nearestText(nearest)}${snapped}.`;
  };
  return new RequestError(problem, { errorCode: "TW_BLOCK_RANGE", advice, cause });
}

/** Formats a value for an error. Callers without types can pass anything. */
function shown(value: unknown): string {
  return typeof value === "string" ? quoted(value) : String(value);
}

/**
 * Validates the height of a block.
 *
 * @throws {@link RequestError} if it is not a positive 64-bit integer
 */
export function readBlock(value: bigint | number, name: string): bigint {
  const whole = typeof value === "bigint" || Number.isSafeInteger(value) ? BigInt(value) : 0n;
  if (typeof value === "string" && /^\d{1,19}$/.test(value)) {
    throw invalidValueError(name, value, `a whole number, such as ${value}`);
  }
  if (whole < 1n || whole >= 2n ** 63n) {
    throw new RequestError(`must be a whole number from 1 (got ${shown(value)})`, {
      option: name,
      advice: "History segments start at blocks 1, 1001, 2001 and so on if they have 1000 blocks.",
    });
  }
  return whole;
}
