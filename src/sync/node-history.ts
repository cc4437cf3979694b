import { Code } from "@connectrpc/connect";
import type { HistorySegment } from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import { isChainId } from "../errors/chain-id.js";
import { ProtocolError, RequestError, TradewireError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import { followingController } from "../signal/follow.js";
import { type AgreedHistory, agreeOn, type Listing, type NodeAway } from "./agree.js";
import { mayPass } from "./failure-kind.js";
import type { SyncClient } from "./options.js";
import type { NodeHistory, Segment } from "./unit.js";
import { requireGoing } from "./wait.js";

/** The most segments of a history: at 300 blocks a segment and a block a second, a hundred years have as many. */
export const MAX_SEGMENTS = 10_000_000;

/** The most characters of a segment's identifier. */
export const MAX_SEGMENT_ID = 128;

/** The largest block, and the largest schema version: what keeps a ledger as JSON holds no larger number exactly. */
const MAX_NUMBER = BigInt(Number.MAX_SAFE_INTEGER);

const ADVICE = "Nothing was changed. Try another node, and tell who runs this one.";

/** What a node is called where its client does not say. */
const THE_NODE = "the node";

/**
 * List the history of nodes, check each, and check that they agree: where several have the same blocks, they must have
 * the same segments with the same identifiers. What only one of them has counts too, as {@link agreeOn} says.
 *
 * A node that cannot be asked now is left out as long as another one answers, and so has no units until it is asked again.
 *
 * @param clients of the nodes, at least one
 * @param signal ends the calls
 * @param known what was known before, which the nodes must go on from
 * @returns the history, which node has what of it, and which nodes are away; without any segment, the chain is empty
 *   where no node tells it
 * @throws {@link ProtocolError} where a listing breaks a rule (as {@link checkHistory} says), or two nodes are of
 *   different chains or histories; it names both
 * @throws {@link PartingError} where the history is another one than `known`
 * @throws {@link RequestError} where there is no client; the errors of the calls unchanged: one that trying again does
 *   not help, or the first where all nodes are away
 *
 * @example
 * const { chainId, segments } = await readHistory([client], AbortSignal.timeout(60_000));
 */
export async function readHistory(
  clients: readonly SyncClient[],
  signal: AbortSignal,
  known?: NodeHistory,
): Promise<AgreedHistory> {
  const call = followingController(signal);
  const away: NodeAway[] = [];
  try {
    const asked = await Promise.all(
      clients.map(async (client, index): Promise<Listing[]> => {
        const node = nodeName(client, index, clients.length);
        try {
          return [{ client, node, ...checkHistory(await client.listSegments({ signal: call.signal }), node) }];
        } catch (reason) {
          requireGoing(signal);
          if (!(reason instanceof TradewireError) || !mayPass(reason)) {
            throw reason;
          }
          away.push({ node, error: reason });
          return [];
        }
      }),
    );
    const listings = asked.flat();
    if (listings.length === 0) {
      throw away[0]?.error ?? noClient();
    }
    return agreeOn(listings, away, known);
  } finally {
    call.abort(); // Where one node failed for good, the others are not waited for.
  }
}

/**
 * Name a node in events and errors.
 *
 * @param client the node's
 * @param index its place among the clients
 * @param count how many there are
 * @returns the name that the client says, else one by its place
 */
export function nodeName(client: SyncClient, index: number, count: number): string {
  return client.name ?? (count === 1 ? THE_NODE : `node ${index + 1}`);
}

/**
 * Check the segments that a node lists: 1 to `MAX_SEGMENTS` of one chain, each directly behind the one before it, whose
 * identifier it names. Only the first may name one that is not listed: the node no longer has it.
 *
 * @param segments in the order of their heights
 * @param node what the node is called, for errors
 * @returns the history; its chain is empty where there are no segments
 * @throws {@link ProtocolError} where a height, an identifier, the chain or a schema version cannot be right, where
 *   segments overlap or one is missing between two, or where they are not a chain; it names both segments.
 *   `RESOURCE_EXHAUSTED` where there are too many
 */
export function checkHistory(segments: readonly HistorySegment[], node = THE_NODE): NodeHistory {
  const wrong = (what: string) => new ProtocolError(`${node} lists ${what}`, { advice: ADVICE });
  if (segments.length > MAX_SEGMENTS) {
    throw new ProtocolError(`${node} lists ${segments.length} segments of history, more than ${MAX_SEGMENTS}`, {
      code: Code.ResourceExhausted,
      advice: ADVICE,
    });
  }
  const chainId = segments[0]?.chainId ?? "";
  const ids = new Set<string>();
  const checked: Segment[] = [];
  let before: Segment | undefined;
  for (const listed of segments) {
    const segment = segmentOf(listed);
    const problem = problemWith(segment) ?? problemBetween(before, segment);
    if (problem !== undefined) {
      throw wrong(problem);
    }
    if (listed.chainId !== chainId || !isChainId(chainId)) {
      const other = before === undefined ? "" : `, but ${nameOf(before)} of ${quoted(chainId)}`;
      throw wrong(`${nameOf(segment)} as one of the chain ${quoted(listed.chainId)}${other}`);
    }
    if (ids.size === ids.add(segment.id).size) {
      throw wrong(`the identifier of ${nameOf(segment)} a second time`);
    }
    checked.push(segment);
    before = segment;
  }
  return { chainId, segments: checked };
}

function segmentOf(listed: HistorySegment): Segment {
  return {
    fromBlock: listed.fromHeight,
    toBlock: listed.toHeight,
    id: listed.historySegmentId,
    previousId: listed.previousHistorySegmentId,
    schemaVersion: listed.databaseVersion,
  };
}

function problemWith(segment: Segment): string | undefined {
  if (segment.fromBlock < 1n || segment.toBlock < segment.fromBlock || segment.toBlock > MAX_NUMBER) {
    return `${nameOf(segment)}, which is no range of blocks`;
  }
  if (!isSegmentId(segment.id)) {
    return `${nameOf(segment)}: an identifier has 1 to ${MAX_SEGMENT_ID} visible ASCII characters`;
  }
  if (segment.previousId !== "" && !isSegmentId(segment.previousId)) {
    return `${nameOf(segment)} behind ${quoted(segment.previousId)}: an identifier has 1 to ${MAX_SEGMENT_ID} visible ASCII characters`;
  }
  return segment.schemaVersion < 1n || segment.schemaVersion > MAX_NUMBER
    ? `${nameOf(segment)} with version ${segment.schemaVersion} of the database schema`
    : undefined;
}

function problemBetween(before: Segment | undefined, segment: Segment): string | undefined {
  if (before === undefined) {
    return undefined;
  }
  if (segment.fromBlock <= before.toBlock) {
    return `${nameOf(segment)} behind ${nameOf(before)}, where it cannot stand`;
  }
  if (segment.fromBlock !== before.toBlock + 1n) {
    return `a history with a gap: ${nameOf(segment)} follows ${nameOf(before)}`;
  }
  return segment.previousId === before.id
    ? undefined
    : `${nameOf(segment)} as one that follows ${quoted(segment.previousId)}, but the one before it is ${nameOf(before)}`;
}

/** Safe in logs, pages and databases. */
function isSegmentId(text: string): boolean {
  return text.length <= MAX_SEGMENT_ID && /^[!-~]+$/.test(text);
}

function nameOf({ fromBlock, toBlock, id }: Segment): string {
  return `the segment ${fromBlock} to ${toBlock} (${quoted(id)})`;
}

function noClient(): RequestError {
  return new RequestError("there is no node to ask for its history", { advice: "Give at least one client." });
}
