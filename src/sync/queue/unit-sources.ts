import { TradewireError } from "../../base/errors/index.js";
import { reactionTo } from "../../base/errors/reaction.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { throwIfAborted } from "../../base/signal/wait.js";
import { type RetryContext, retryWhileUnavailable } from "../availability.js";
import { assertSameChain, unitDivergenceError } from "../divergence.js";
import { type MergedHistory, readHistory } from "../node-history.js";
import type { SyncClient } from "../sync-options.js";
import type { NodeHistory, Unit } from "../unit.js";
import { firstEndingAt } from "../unit.js";

/** Knows which of a worker's nodes have which units. A node is asked only for units that it has listed itself. */
export interface UnitSources {
  /** The combined history of the nodes at the last reading. */
  readonly history: NodeHistory;
  /**
   * Returns the nodes that list the last segment of a unit. If none does, or a node was unreachable, the history is
   * read again, unless that was done recently.
   *
   * @throws {@link DivergenceError} if a node has another segment in its place; errors of listings that break a rule
   */
  nodesFor(unit: Unit): Promise<ReadonlySet<number>>;
}

/** How the history of a worker's nodes is read. */
export interface UnitSourcesOptions extends RetryContext {
  readonly chainId: string;
  readonly sinkName: string;
  /** The shortest time between two readings, in milliseconds. */
  readonly listingMs: number;
  /** The same for a unit after the last known block: it is new, and other nodes list it. */
  readonly newSegmentMs: number;
}

/**
 * Reads the history of a worker's nodes.
 *
 * @throws {@link RequestError} if the nodes are on another chain; errors of `readHistory`
 */
export async function createUnitSources(
  clients: readonly SyncClient[],
  options: UnitSourcesOptions,
): Promise<UnitSources> {
  const { chainId, sinkName, listingMs, newSegmentMs, report, signal } = options;
  let readAt = monotonicMs();
  let reading: Promise<void> | undefined;

  async function read(): Promise<MergedHistory> {
    readAt = monotonicMs();
    const look = await readHistory(clients, signal);
    assertSameChain(sinkName, chainId, look.chainId);
    for (const { node, error } of look.unreachable) {
      report({ kind: "unreachable", node, error });
    }
    return look;
  }

  let look = await retryWhileUnavailable(read, options);

  /** Reads the history again; after a transient error, the previous one stays valid. */
  async function readAgain(): Promise<void> {
    try {
      look = await read();
    } catch (reason) {
      throwIfAborted(signal);
      if (!(reason instanceof TradewireError) || !reactionTo(reason).repeat) {
        throw reason;
      }
    }
  }

  function candidates(unit: Unit): Set<number> {
    return new Set(clients.flatMap((client, index) => (look.has(client, unit) ? [index] : [])));
  }

  return {
    get history() {
      return { chainId, segments: look.segments };
    },
    async nodesFor(unit) {
      const isNew = unit.toBlock > (look.segments.at(-1)?.toBlock ?? 0n);
      const isDue = () => monotonicMs() - readAt >= (isNew ? newSegmentMs : listingMs);
      if ((look.unreachable.length > 0 || !look.isAvailable(unit)) && (reading !== undefined || isDue())) {
        reading ??= readAgain().finally(() => {
          reading = undefined;
        });
        await reading;
      }
      const found = candidates(unit);
      const there = found.size > 0 ? undefined : look.segments[firstEndingAt(look.segments, unit.toBlock)];
      if (there !== undefined && there.fromBlock <= unit.toBlock && there.id !== unit.segmentId) {
        const { fromBlock, toBlock, id } = there;
        const owner = clients.find((client) => look.has(client, { ...unit, fromBlock, toBlock, segmentId: id }));
        throw unitDivergenceError(owner?.name ?? "the node", unit, there);
      }
      return found;
    },
  };
}
