import { compareBigints } from "../base/bigints.js";
import { quoted } from "../base/errors/error-text.js";
import { ProtocolError, RequestError, TradewireError } from "../base/errors/index.js";
import { reactionTo } from "../base/errors/reaction.js";
import { linkedController } from "../base/signal/abort.js";
import { throwIfAborted } from "../base/signal/wait.js";
import type { DataNodeLag } from "../data/history/data-node-lag.js";
import { checkHistory } from "../data/history/segment-chain.js";
import { historyChangedError } from "./divergence.js";
import type { ReportEvent } from "./sync-events.js";
import type { SyncClient } from "./sync-options.js";
import type { NodeHistory, Segment, Unit } from "./unit.js";
import { firstEndingAt, segmentEndingAt } from "./unit.js";

/** How long the lag of a node may take to read, in milliseconds. Without an answer it is omitted. */
const LAG_MS = 5000;

/** The name of a node whose client has none. */
const THE_NODE = "the node";

/**
 * Reads the history of nodes, checks each, and checks that they agree: segments of the same blocks must have the same
 * identifiers. Segments that only one node has count too; see {@link mergeHistories}.
 *
 * An unreachable node is ignored while another one answers. It gets no units until it has answered.
 *
 * @throws {@link ProtocolError} if a listing breaks a rule of {@link checkHistory}, or two nodes are of different
 *   chains or histories; it names both
 * @throws {@link DivergenceError} if the history is not a continuation of `known`
 * @throws {@link RequestError} if there is no client; errors of the calls unchanged: one that a retry cannot fix, or the first if
 * all nodes are unreachable
 *
 * @example
 * const { chainId, segments } = await readHistory([client], AbortSignal.timeout(60_000));
 */
export async function readHistory(
  clients: readonly SyncClient[],
  signal: AbortSignal,
  known?: NodeHistory,
): Promise<MergedHistory & { readonly lags: readonly NodeLag[] }> {
  const call = linkedController(signal);
  const unreachable: UnreachableNode[] = [];
  const lags: NodeLag[] = [];
  try {
    const asked = await Promise.all(
      clients.map(async (client, index): Promise<NodeListing[]> => {
        const node = nodeName(client, index, clients.length);
        try {
          const [segments, lag] = await Promise.all([
            client.listSegments({ signal: call.signal }),
            client.dataNodeLag?.({ signal: call.signal, timeoutMs: LAG_MS }).catch(() => undefined),
          ]);
          if (lag !== undefined) {
            lags.push({ node, lag });
          }
          return [{ client, node, ...checkHistory(segments, node) }];
        } catch (reason) {
          throwIfAborted(signal);
          if (!(reason instanceof TradewireError) || !reactionTo(reason).repeat) {
            throw reason;
          }
          unreachable.push({ node, error: reason });
          return [];
        }
      }),
    );
    const listings = asked.flat();
    if (listings.length === 0) {
      throw unreachable[0]?.error ?? noClient();
    }
    return { ...mergeHistories(listings, unreachable, known), lags };
  } finally {
    call.abort(); // After an error of one node, the others are not awaited.
  }
}

export function reportNodes(
  { unreachable, lags }: { readonly unreachable: readonly UnreachableNode[]; readonly lags: readonly NodeLag[] },
  report: ReportEvent,
): void {
  for (const { node, error } of unreachable) {
    report({ kind: "unreachable", node, error });
  }
  for (const { node, lag } of lags) {
    report({ kind: "lag", node, lag });
  }
}

export function nodeName(client: SyncClient, index: number, count: number): string {
  return client.name ?? (count === 1 ? THE_NODE : `node ${index + 1}`);
}

function noClient(): RequestError {
  return new RequestError("no node is set", { advice: "Pass at least one client." });
}

/** The history that one node has listed, after checks. */
interface NodeListing extends NodeHistory {
  readonly client: SyncClient;
  /** The name of the node. */
  readonly node: string;
}

/** A node that does not answer. */
export interface UnreachableNode {
  readonly node: string;
  readonly error: TradewireError;
}

/** The lag of a node's last block behind its core's. */
export interface NodeLag {
  readonly node: string;
  readonly lag: DataNodeLag;
}

type Segments = readonly Segment[];

/** The history that the nodes agree on. */
export interface MergedHistory extends NodeHistory {
  /** The nodes that did not answer. */
  readonly unreachable: readonly UnreachableNode[];
  /** Segments of nodes that end before a gap, so that they cannot be compared with `segments`; each list without gaps. */
  readonly earlier: readonly Segments[];
  /** The first block of the nodes that have `segments`. An unreachable node may have segments before it. */
  readonly availableFrom: bigint;
  /**
   * Returns whether a node has listed all segments of a unit, and they were compared with those of the others, unless it ends
   * before a gap.
   */
  has(client: SyncClient, unit: Unit): boolean;
  /** Returns whether any node has a unit. */
  isAvailable(unit: Unit): boolean;
  /** Returns the part of a unit that some node has: without its first segments if all nodes have dropped them. */
  availablePart<T extends Unit>(unit: T): T | undefined;
}

/**
 * Merges the histories of nodes after checking that they are the same where they overlap.
 *
 * The result is everything that the nodes have together, without a gap, up to the newest segment. A node whose history ends
 * before all of these blocks cannot be compared; its segments are listed apart. The known history is retained after the
 * nodes' newest segment, because a node may have to catch up; before their oldest one it is retained only while a node is
 * unreachable, because nodes drop old segments.
 *
 * @throws {@link ProtocolError} if two nodes differ; it names both
 * @throws {@link DivergenceError} if the nodes differ from the known history
 */
function mergeHistories(
  listings: readonly NodeListing[],
  unreachable: readonly UnreachableNode[],
  known: NodeHistory = { chainId: "", segments: [] },
): MergedHistory {
  const reported = listings.filter(({ segments }) => segments.length > 0);
  const [one] = reported;
  for (const other of reported) {
    if (one !== undefined && one.chainId !== other.chainId) {
      throw nodesDifferError(`${one.node} is on chain ${one.chainId}, but ${other.node} is on chain ${other.chainId}`);
    }
  }
  if (one !== undefined && known.chainId !== "" && known.chainId !== one.chainId) {
    throw historyChangedError(one.node, `its chain changed from ${quoted(known.chainId)} to ${quoted(one.chainId)}`);
  }
  const [newest, ...earlier] = compared(reported);
  const { segments, holders } = newest ?? { segments: [], holders: [] };
  const whole = continued(known.segments, segments, (was, is) => {
    const { node } = ownerOf(holders, is ?? was) ?? holders[0] ?? { node: "the node" };
    return historyChangedError(node, `it had ${factsOf(was)}, and now has ${factsOf(is)}`);
  });
  const [first, last] = [segments[0], whole.at(-1)];
  const isCompared = first !== undefined && last !== undefined && segmentEndingAt(whole, first.toBlock) !== undefined;
  const isOld = ({ toBlock }: Segment) => isCompared && unreachable.length === 0 && toBlock < first.fromBlock;
  const agreed = whole[0] && isOld(whole[0]) ? whole.filter((segment) => !isOld(segment)) : whole;
  const listed = [...(isCompared ? holders : []), ...earlier.flatMap((part) => part.holders)];
  const bringing = new Map(listed.map((holder) => [holder.client, holder.segments]));

  function has(client: SyncClient, { fromBlock, toBlock, segmentId }: Unit): boolean {
    const own = bringing.get(client) ?? [];
    const from = own[0]?.fromBlock;
    return from !== undefined && from <= fromBlock && segmentEndingAt(own, toBlock)?.id === segmentId;
  }

  const isAvailable = (unit: Unit) => listings.some(({ client }) => has(client, unit));

  function availablePart<T extends Unit>(unit: T): T | undefined {
    for (let index = firstEndingAt(agreed, unit.fromBlock); ; index += 1) {
      const segment = agreed[index];
      if (segment === undefined || segment.toBlock > unit.toBlock) {
        return undefined;
      }
      const { fromBlock, previousId: previousSegmentId } = segment;
      const part = { ...unit, fromBlock, previousSegmentId };
      if (fromBlock >= unit.fromBlock && isAvailable(part)) {
        return part;
      }
    }
  }

  return {
    chainId: one?.chainId ?? known.chainId,
    segments: agreed,
    unreachable,
    earlier: earlier.map((part) => part.segments),
    availableFrom: segments[0]?.fromBlock ?? 0n,
    has,
    isAvailable,
    availablePart,
  };
}

/** Segments without gaps, and the nodes that have some of them. */
interface Part {
  readonly segments: Segments;
  readonly holders: readonly NodeListing[];
}

/** Compares the nodes and merges their segments; those on either side of a gap are different parts, the newest first. */
function compared(reported: readonly NodeListing[]): Part[] {
  const parts: Part[] = [];
  for (const listing of [...reported].sort((a, b) => compareBigints(lastBlockOf(b), lastBlockOf(a)))) {
    const part = parts.at(-1);
    if (part === undefined || !isNextTo(listing.segments, part.segments)) {
      parts.push({ segments: listing.segments, holders: [listing] });
      continue;
    }
    const segments = union(listing.segments, part.segments, (ours, theirs) => {
      const owner = ownerOf(part.holders, theirs ?? ours);
      return nodesDifferError(`${owner?.node} lists ${factsOf(theirs)}, but ${listing.node} lists ${factsOf(ours)}`);
    });
    parts[parts.length - 1] = { segments, holders: [...part.holders, listing] };
  }
  return parts;
}

/** Creates the error of two different segments in the same place, that of the older history first. */
type Differ = (older: Segment | undefined, newer: Segment | undefined) => Error;

function continued(known: Segments, now: Segments, differ: Differ): Segments {
  if (lastOf(now) < lastOf(known)) {
    const isComparable = now.length > 0 && isNextTo(now, known);
    return isComparable ? union(now, known, (older, newer) => differ(newer, older)) : known;
  }
  return known.length > 0 && isNextTo(known, now) ? union(known, now, differ) : now;
}

/** Returns whether no blocks are missing between an older history and a newer one. */
function isNextTo(older: Segments, newer: Segments): boolean {
  return lastOf(older) + 1n >= (newer[0]?.fromBlock ?? 0n);
}

/**
 * Merges two histories after comparing their overlap. The newer one ends at the same block as the older one, or later.
 */
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

function ownerOf(listings: readonly NodeListing[], segment: Segment | undefined): NodeListing | undefined {
  const block = segment?.toBlock ?? 0n;
  return listings.find(({ segments }) => (segments[0]?.fromBlock ?? block + 1n) <= block && block <= lastOf(segments));
}

function lastOf(segments: Segments): bigint {
  return segments.at(-1)?.toBlock ?? 0n;
}

function lastBlockOf({ segments }: NodeListing): bigint {
  return lastOf(segments);
}

function factsOf(segment: Segment | undefined): string {
  if (segment === undefined) {
    return "none there";
  }
  const { fromBlock, toBlock, id, previousId, schemaVersion } = segment;
  return `the segment ${fromBlock} to ${toBlock} (${quoted(id)}) of schema version ${schemaVersion} after ${quoted(previousId)}`;
}

function nodesDifferError(summary: string): ProtocolError {
  return new ProtocolError(summary, {
    advice: "Nothing was changed. All nodes of a sync must have the same history: remove the others.",
  });
}
