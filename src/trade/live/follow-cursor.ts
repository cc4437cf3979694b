import * as v from "valibot";
import { quoted } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { isChainId } from "../../base/input/assert.js";
import { wholeNumber } from "../../base/input/schemas.js";
import { isSegmentId } from "../../data/history/segment-chain.js";
import type { BlockRange } from "../../data/history/segments.js";
import { type TableName, tableNames } from "../../data/schema/table-names.js";
import { isDigest, type PartOfSegment } from "./segment-rows.js";

/** The position up to which a table was followed: a row of a segment, or the end of one. */
export interface FollowPosition extends BlockRange {
  readonly chainId: string;
  readonly table: TableName;
  readonly segmentId: string;
  /** `undefined` if the segment was received completely. */
  readonly part: PartOfSegment | undefined;
}

/** Maximum number of characters of a cursor: of its parts, the identifiers are the longest. */
const MAX_CURSOR = 600;

const block = v.pipe(wholeNumber, v.minValue(1));
const positionSchema = [
  v.literal(1), // The version of the form.
  v.pipe(v.string(), v.check(isChainId)),
  v.picklist(tableNames),
  block,
  block,
  v.pipe(v.string(), v.check(isSegmentId)),
] as const;
const cursorSchema = v.union([
  v.strictTuple(positionSchema),
  v.strictTuple([...positionSchema, wholeNumber, v.pipe(v.string(), v.check(isDigest))]),
]);

/** Writes a position as a cursor: letters, digits, `-` and `_`, at most 600 of them. */
export function writeCursor({ chainId, table, fromBlock, toBlock, segmentId, part }: FollowPosition): string {
  const parts: v.InferOutput<typeof cursorSchema> = [1, chainId, table, Number(fromBlock), Number(toBlock), segmentId];
  return Buffer.from(JSON.stringify(part === undefined ? parts : [...parts, part.rows, part.digest])).toString(
    "base64url",
  );
}

/**
 * Reads a cursor.
 *
 * @throws {@link RequestError} if it is not a cursor, or is one of another table
 */
export function readCursor(cursor: string, wanted: TableName): FollowPosition {
  const content = contentOf(cursor);
  if (!v.is(cursorSchema, content) || content[3] > content[4]) {
    throw new RequestError(`${quoted(String(cursor), 80)} is not a cursor of \`follow\``, {
      errorCode: "TW_INVALID_CURSOR",
      advice: "Pass the cursor of the rows unchanged, or none to start over.",
    });
  }
  const [, chainId, table, fromBlock, toBlock, segmentId, rows, digest] = content;
  if (table !== wanted) {
    throw new RequestError(`the cursor belongs to the table ${table}, not to ${wanted}`, {
      errorCode: "TW_INVALID_CURSOR",
      advice: "Store a separate cursor for each table.",
    });
  }
  const part = rows === undefined || digest === undefined ? undefined : { rows, digest };
  return { chainId, table, fromBlock: BigInt(fromBlock), toBlock: BigInt(toBlock), segmentId, part };
}

function contentOf(cursor: string): unknown {
  if (typeof cursor !== "string" || cursor.length > MAX_CURSOR || !/^[A-Za-z0-9_-]+$/.test(cursor)) {
    return undefined;
  }
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    return undefined;
  }
}
