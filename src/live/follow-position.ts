import * as z from "zod";
import { isChainId } from "../errors/chain-id.js";
import { RequestError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import { isSegmentId } from "../history/segment-chain.js";
import type { BlockRange } from "../history/segments.js";
import { type TableName, tableNames } from "../schema/tables.js";
import { isDigest } from "./rows-digest.js";

/** The rows of a segment that were handed out, where there may be more. */
export interface PartOfSegment {
  /** How many, from the first on. */
  readonly rows: number;
  /** What they were, as `rows-digest.ts` has it. */
  readonly digest: string;
}

/** How far a table was followed: to a row of a segment, or to the end of one. */
export interface FollowPosition extends BlockRange {
  readonly chainId: string;
  readonly table: TableName;
  readonly segmentId: string;
  /** `undefined` where the segment came whole. */
  readonly part: PartOfSegment | undefined;
}

/** The most characters of a cursor: of its parts, the identifiers are the longest. */
const MAX_CURSOR = 600;

const place = [
  z.literal(1), // The version of the form.
  z.string().refine(isChainId),
  z.enum(tableNames),
  z.int().min(1),
  z.int().min(1),
  z.string().refine(isSegmentId),
] as const;
const form = z.union([z.tuple(place), z.tuple([...place, z.int().min(0), z.string().refine(isDigest)])]);

/**
 * Write a position as a cursor: letters, digits, `-` and `_`, at most 600 of them.
 *
 * @param position the position
 * @returns the cursor
 */
export function writeCursor({ chainId, table, fromBlock, toBlock, segmentId, part }: FollowPosition): string {
  const parts: z.infer<typeof form> = [1, chainId, table, Number(fromBlock), Number(toBlock), segmentId];
  return Buffer.from(JSON.stringify(part === undefined ? parts : [...parts, part.rows, part.digest])).toString(
    "base64url",
  );
}

/**
 * Read a cursor.
 *
 * @param cursor what {@link writeCursor} has written
 * @param wanted the table that is to be followed
 * @returns the position
 * @throws {@link RequestError} where it is no cursor, or one of another table
 */
export function readCursor(cursor: string, wanted: TableName): FollowPosition {
  const parts = form.safeParse(contentOf(cursor)).data;
  if (parts === undefined || parts[3] > parts[4]) {
    throw new RequestError(`${quoted(String(cursor), 80)} is no cursor of a follow`, {
      advice: "Give the cursor that came with rows, unchanged; or none, to begin anew.",
    });
  }
  const [, chainId, table, fromBlock, toBlock, segmentId, rows, digest] = parts;
  if (table !== wanted) {
    throw new RequestError(`the cursor is of the table ${table}, but ${wanted} is to be followed`, {
      advice: "Keep a cursor for each table.",
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
