import { TradewireError } from "../../errors/index.js";
import { reactionTo } from "../../errors/reaction.js";
import { monotonicMs } from "../../runtime/index.js";
import { requireGoing } from "../../signal/wait.js";
import type { AgreedHistory } from "../agree.js";
import { readHistory } from "../node-history.js";
import type { SyncClient } from "../options.js";
import { requireSameChain, unitParted } from "../parting.js";
import { type Patience, patiently } from "../patiently.js";
import { firstEndingAt } from "../standing.js";
import type { NodeHistory, Unit } from "../unit.js";

/** Which of a worker's nodes have what. A node is asked only for what it has listed itself. */
export interface Holders {
  /** What the nodes have together, as they last listed it. */
  readonly history: NodeHistory;
  /**
   * Tell which nodes list the last segment of a unit. They are asked for their history again where none does, or one
   * was away, if the last time was long enough ago.
   *
   * @param unit the unit
   * @returns places in the list of nodes; none where no node has the unit now
   * @throws {@link PartingError} where a node has another segment in its place; errors of listings that break a rule
   */
  of(unit: Unit): Promise<ReadonlySet<number>>;
}

/** How the history of a worker's nodes is read. */
export interface HoldersOptions extends Patience {
  /** The chain of the queue. */
  readonly chainId: string;
  /** What the sink is called. */
  readonly sinkName: string;
  /** The shortest time between two readings, in milliseconds. */
  readonly listMs: number;
  /** The same where a unit lies behind the last block that is known: it is new, and others list it. */
  readonly newMs: number;
}

/**
 * Read what a worker's nodes have.
 *
 * @param clients of the nodes
 * @param options the chain, and how often and how patiently they are asked
 * @returns tells which node has which unit
 * @throws {@link RequestError} where the nodes are of another chain; errors of `readHistory`
 */
export async function readHolders(clients: readonly SyncClient[], options: HoldersOptions): Promise<Holders> {
  const { chainId, sinkName, listMs, newMs, tell, signal } = options;
  let readAt = monotonicMs();
  let reading: Promise<void> | undefined;

  async function read(): Promise<AgreedHistory> {
    readAt = monotonicMs();
    const look = await readHistory(clients, signal);
    requireSameChain(sinkName, chainId, look.chainId);
    for (const { node, error } of look.away) {
      tell({ case: "away", node, error });
    }
    return look;
  }

  let look = await patiently(read, options);

  /** What cannot be read now is as it was. */
  async function readAgain(): Promise<void> {
    try {
      look = await read();
    } catch (reason) {
      requireGoing(signal);
      if (!(reason instanceof TradewireError) || !reactionTo(reason).repeat) {
        throw reason;
      }
    }
  }

  function having(unit: Unit): Set<number> {
    return new Set(clients.flatMap((client, index) => (look.has(client, unit) ? [index] : [])));
  }

  return {
    get history() {
      return { chainId, segments: look.segments };
    },
    async of(unit) {
      const isNew = unit.toBlock > (look.segments.at(-1)?.toBlock ?? 0n);
      const isDue = () => monotonicMs() - readAt >= (isNew ? newMs : listMs);
      if ((look.away.length > 0 || !look.isHeld(unit)) && (reading !== undefined || isDue())) {
        reading ??= readAgain().finally(() => {
          reading = undefined;
        });
        await reading;
      }
      const found = having(unit);
      const there = found.size > 0 ? undefined : look.segments[firstEndingAt(look.segments, unit.toBlock)];
      if (there !== undefined && there.fromBlock <= unit.toBlock && there.id !== unit.segmentId) {
        const { fromBlock, toBlock, id } = there;
        const owner = clients.find((client) => look.has(client, { ...unit, fromBlock, toBlock, segmentId: id }));
        throw unitParted(owner?.name ?? "the node", unit, there);
      }
      return found;
    },
  };
}
