import { RequestError, TradewireError } from "../errors/index.js";
import { reactionTo } from "../errors/reaction.js";
import { checkHistory } from "../history/segment-chain.js";
import { followingController } from "../signal/follow.js";
import { requireGoing } from "../signal/wait.js";
import { type AgreedHistory, agreeOn, type Listing, type NodeAway, type NodeLag } from "./agree.js";
import type { SyncClient } from "./options.js";
import type { NodeHistory } from "./unit.js";

/** The longest time to compare a node's last block, in milliseconds. What cannot be compared is left out. */
const LAG_MS = 5000;

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
 * @returns the history, which node has what of it, which nodes are away, and how their last blocks compare; without any segment, the chain is empty
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
): Promise<AgreedHistory & { readonly lags: readonly NodeLag[] }> {
  const call = followingController(signal);
  const away: NodeAway[] = [];
  const lags: NodeLag[] = [];
  try {
    const asked = await Promise.all(
      clients.map(async (client, index): Promise<Listing[]> => {
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
          requireGoing(signal);
          if (!(reason instanceof TradewireError) || !reactionTo(reason).repeat) {
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
    return { ...agreeOn(listings, away, known), lags };
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

function noClient(): RequestError {
  return new RequestError("there is no node to ask for its history", { advice: "Give at least one client." });
}
