import { ProtocolError, type TradewireError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import type { DataNodeLag } from "../history/data-node-lag.js";
import type { SyncClient } from "./options.js";
import { changedError } from "./parting.js";
import { firstEndingAt, segmentEndingAt } from "./standing.js";
import type { NodeHistory, Segment, Unit } from "./unit.js";

/** The history that a node has listed, checked. */
export interface Listing extends NodeHistory {
  readonly client: SyncClient;
  /** What the node is called. */
  readonly node: string;
}

/** A node that could not be asked. */
export interface NodeAway {
  readonly node: string;
  readonly error: TradewireError;
}

/** How a node's last block compares with its core's. */
export interface NodeLag {
  readonly node: string;
  readonly lag: DataNodeLag;
}

/** The history that nodes agree on. */
export interface AgreedHistory extends NodeHistory {
  /** The nodes that could not be asked. */
  readonly away: readonly NodeAway[];
  /** The first block that any node has. There may be segments before it, of a node that is away. */
  readonly heldFrom: bigint;
  /** Whether a node has listed all segments of a unit, and they were compared with those of the others. */
  has(client: SyncClient, unit: Unit): boolean;
  /** Whether any node has. */
  isHeld(unit: Unit): boolean;
  /** The unit as far as some node has it: without its first segments where all nodes have dropped them. */
  heldPart<T extends Unit>(unit: T): T | undefined;
}

type Segments = readonly Segment[];

/**
 * Put the histories of nodes together, once it is certain that they are the same where several have the same blocks.
 *
 * What is given is what the nodes have together, without a gap, up to the newest segment. A node whose blocks end before
 * all of these begin cannot be compared, and counts as one that has nothing. What was known before stays known behind
 * the nodes' newest segment, as a node may have to catch up; before their oldest one it stays only while a node is away,
 * as nodes drop what is old.
 *
 * @param listings of the nodes that have answered
 * @param away the other nodes
 * @param known what was known before
 * @returns the history, and which node has what of it
 * @throws {@link ProtocolError} where two nodes differ; it names both
 * @throws {@link PartingError} where the nodes differ from what was known
 */
export function agreeOn(
  listings: readonly Listing[],
  away: readonly NodeAway[],
  known: NodeHistory = { chainId: "", segments: [] },
): AgreedHistory {
  const told = listings.filter(({ segments }) => segments.length > 0);
  const [one] = told;
  for (const other of told) {
    if (one !== undefined && one.chainId !== other.chainId) {
      throw parted(`${one.node} is of the chain ${one.chainId}, but ${other.node} of ${other.chainId}`);
    }
  }
  if (one !== undefined && known.chainId !== "" && known.chainId !== one.chainId) {
    throw changedError(one.node, `it was of chain ${quoted(known.chainId)} and is of ${quoted(one.chainId)}`);
  }
  const { segments, holders } = compared(told);
  const whole = continued(known.segments, segments, (was, is) => {
    const { node } = ownerOf(holders, is ?? was) ?? holders[0] ?? { node: "the node" };
    return changedError(node, `it had ${factsOf(was)}, and now has ${factsOf(is)}`);
  });
  const [first, last] = [segments[0], whole.at(-1)];
  const isCompared = first !== undefined && last !== undefined && segmentEndingAt(whole, first.toBlock) !== undefined;
  const isOld = ({ toBlock }: Segment) => isCompared && away.length === 0 && toBlock < first.fromBlock;
  const agreed = whole[0] && isOld(whole[0]) ? whole.filter((segment) => !isOld(segment)) : whole;
  const bringing = new Map(isCompared ? holders.map((holder) => [holder.client, holder.segments]) : []);

  function has(client: SyncClient, { fromBlock, toBlock, segmentId }: Unit): boolean {
    const listed = bringing.get(client);
    const from = listed?.[0]?.fromBlock;
    return from !== undefined && from <= fromBlock && segmentEndingAt(listed ?? [], toBlock)?.id === segmentId;
  }

  const isHeld = (unit: Unit) => listings.some(({ client }) => has(client, unit));

  function heldPart<T extends Unit>(unit: T): T | undefined {
    for (let index = firstEndingAt(agreed, unit.fromBlock); ; index += 1) {
      const segment = agreed[index];
      if (segment === undefined || segment.toBlock > unit.toBlock) {
        return undefined;
      }
      const { fromBlock, previousId: previousSegmentId } = segment;
      const part = { ...unit, fromBlock, previousSegmentId };
      if (fromBlock >= unit.fromBlock && isHeld(part)) {
        return part;
      }
    }
  }

  return {
    chainId: one?.chainId ?? known.chainId,
    segments: agreed,
    away,
    heldFrom: segments[0]?.fromBlock ?? 0n,
    has,
    isHeld,
    heldPart,
  };
}

/** Compares the nodes, and puts together what they have, from the newest segment back to a gap. */
function compared(told: readonly Listing[]): { readonly segments: Segments; readonly holders: readonly Listing[] } {
  let segments: Segments = [];
  const holders: Listing[] = [];
  for (const listing of [...told].sort((a, b) => compareBlocks(lastBlockOf(b), lastBlockOf(a)))) {
    if (segments.length > 0 && !isNextTo(listing.segments, segments)) {
      break; // The other nodes end before it.
    }
    segments = union(listing.segments, segments, (ours, theirs) => {
      const owner = ownerOf(holders, theirs ?? ours);
      return parted(`${owner?.node} lists ${factsOf(theirs)}, but ${listing.node} lists ${factsOf(ours)}`);
    });
    holders.push(listing);
  }
  return { segments, holders };
}

/** Makes the error of two segments that should be one, the older history's first. */
type Differ = (older: Segment | undefined, newer: Segment | undefined) => Error;

/** Puts what was known and what nodes have now together. */
function continued(known: Segments, now: Segments, differ: Differ): Segments {
  if (lastOf(now) < lastOf(known)) {
    const isComparable = now.length > 0 && isNextTo(now, known);
    return isComparable ? union(now, known, (older, newer) => differ(newer, older)) : known;
  }
  return known.length > 0 && isNextTo(known, now) ? union(known, now, differ) : now;
}

/** Whether no blocks lie between an older history and the beginning of a newer one. */
function isNextTo(older: Segments, newer: Segments): boolean {
  return lastOf(older) + 1n >= (newer[0]?.fromBlock ?? 0n);
}

/** Puts two histories together of which the newer one goes on at least as far, once what both have is the same. */
function union(older: Segments, newer: Segments, differ: Differ): Segments {
  const [start, newest] = [newer[0], older.at(-1)];
  if (start === undefined || newest === undefined) {
    return start === undefined ? older : newer;
  }
  if (newest.toBlock < start.fromBlock) {
    if (start.previousId !== newest.id) {
      throw differ(newest, start);
    }
    return [...older, ...newer];
  }
  const isOlderFirst = (older[0]?.fromBlock ?? 0n) < start.fromBlock;
  const from = isOlderFirst ? firstEndingAt(older, start.fromBlock) : 0;
  let index = isOlderFirst ? 0 : firstEndingAt(newer, older[0]?.fromBlock ?? 0n);
  for (let at = from; at < older.length; at += 1, index += 1) {
    const [ours, theirs] = [older[at], newer[index]];
    if (ours === undefined || theirs === undefined || !isSame(ours, theirs)) {
      throw differ(ours, theirs);
    }
  }
  return from === 0 ? newer : [...older.slice(0, from), ...newer];
}

function isSame(a: Segment, b: Segment): boolean {
  return (
    a.id === b.id &&
    a.previousId === b.previousId &&
    a.fromBlock === b.fromBlock &&
    a.toBlock === b.toBlock &&
    a.schemaVersion === b.schemaVersion
  );
}

/** The first of the nodes that lists a segment's last block. */
function ownerOf(listings: readonly Listing[], segment: Segment | undefined): Listing | undefined {
  const block = segment?.toBlock ?? 0n;
  return listings.find(({ segments }) => (segments[0]?.fromBlock ?? block + 1n) <= block && block <= lastOf(segments));
}

function lastOf(segments: Segments): bigint {
  return segments.at(-1)?.toBlock ?? 0n;
}

function lastBlockOf({ segments }: Listing): bigint {
  return lastOf(segments);
}

function compareBlocks(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function factsOf(segment: Segment | undefined): string {
  if (segment === undefined) {
    return "none there";
  }
  const { fromBlock, toBlock, id, previousId, schemaVersion } = segment;
  return `the segment ${fromBlock} to ${toBlock} (${quoted(id)}) of schema version ${schemaVersion} behind ${quoted(previousId)}`;
}

function parted(summary: string): ProtocolError {
  return new ProtocolError(summary, {
    advice: "Nothing was changed. Nodes that share a sync must be of one history: leave out those that are not.",
  });
}
