import { hashOf } from "../made-up/numbers.js";

/** A history segment: blocks that are exported together, all of one version of the database schema. */
export interface Segment {
  readonly fromHeight: bigint;
  /** Last block, inclusive. */
  readonly toHeight: bigint;
  /** A content identifier of IPFS, version 0: `Qm` and 44 letters and digits, made of what the segment holds and of the segment before. */
  readonly id: string;
  /** Identifier of the segment before this one; empty for the first. */
  readonly previousId: string;
  readonly databaseVersion: bigint;
  readonly chainId: string;
}

/** Where a history's segments are, and of what version. */
export interface SegmentRules {
  readonly chainId: string;
  readonly blocksPerSegment: number;
  /** The version of the database schema of each segment, in order; the last one holds for all that follow. */
  readonly schemaVersions: readonly number[];
}

/**
 * Tell which blocks a segment has, and of what version they are.
 *
 * @param rules the length of segments and their versions
 * @param index which segment, from 0
 * @returns the heights and the version of the database schema
 */
export function spanAt({ blocksPerSegment, schemaVersions }: SegmentRules, index: number) {
  const version = schemaVersions[Math.min(index, schemaVersions.length - 1)] ?? 0;
  const fromHeight = BigInt(index) * BigInt(blocksPerSegment) + 1n;
  return { fromHeight, toHeight: fromHeight + BigInt(blocksPerSegment) - 1n, databaseVersion: BigInt(version) };
}

/**
 * Make the segment that follows another one.
 *
 * @param rules the chain, the length of segments and their versions
 * @param index which segment, from 0
 * @param previousId the identifier of the segment before; empty for the first
 * @param content a hash of the rows that it holds in place of made-up ones; empty where all are made up
 * @returns the segment
 */
export function segmentAt(rules: SegmentRules, index: number, previousId: string, content: string): Segment {
  const { chainId } = rules;
  const { fromHeight, toHeight, databaseVersion } = spanAt(rules, index);
  const digest = hashOf(
    `${previousId} ${chainId} ${fromHeight} ${databaseVersion} ${rules.blocksPerSegment} ${content}`,
  );
  const id = base58(`${SHA2_256}${digest}`);
  return { fromHeight, toHeight, id, previousId, databaseVersion, chainId };
}

/** What a multihash of SHA2-256 begins with, in hexadecimal: its kind, and its length of 32 bytes. */
const SHA2_256 = "1220";

const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Write bytes in base 58. The bytes, in hexadecimal, must not begin with 0. */
function base58(hex: string): string {
  let text = "";
  for (let rest = BigInt(`0x${hex}`); rest > 0n; rest /= 58n) {
    text = `${BASE58.charAt(Number(rest % 58n))}${text}`;
  }
  return text;
}
