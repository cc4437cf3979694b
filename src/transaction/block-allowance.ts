import { setTimeout as sleep } from "node:timers/promises";
import { Code, type Client as ConnectClient } from "@connectrpc/connect";
import type { CoreService, LastBlockHeightResponse, PoWStatistic } from "../../gen/vega/api/v1/core_pb.js";
import { CanceledError, NodeError, RequestError } from "../errors/index.js";
import type { BlockTask } from "./transaction.js";
import { withSignal } from "./with-signal.js";

/** What is asked of a node to know what a transaction may be tied to. Its failures are the library's own errors. */
export type SpamService = Pick<ConnectClient<typeof CoreService>, "lastBlockHeight" | "getSpamStatistics">;

/** Keeps count of the transactions that each key has tied to each block. */
export interface BlockAllowance {
  /**
   * Take one more transaction of a key out of the last block's allowance; waits for the next block where there is none left.
   *
   * @returns the block to tie it to, and the difficulty that its proof of work needs
   * @throws {@link RequestError} where the key is banned, or no next block comes
   */
  take(publicKey: string, signal?: AbortSignal): Promise<BlockTask>;
}

/**
 * How many zero bits beyond the block's own are worth it: with each, the work doubles, and the next block, which a network
 * makes about once a second, comes sooner.
 */
const MOST_FURTHER_BITS = 3;

/** How often the last block is asked for while waiting, and for how long, in milliseconds. */
const POLL_MS = 200;
const LONGEST_WAIT_MS = 60_000;

/** How many transactions of a key a block has served, and what the node wants for the next one at least. */
interface Served {
  count: number;
  readonly atLeast: number;
}

/**
 * Keeps within a network's allowances against spam, so that no key is banned: a block hash serves so many transactions of a
 * key, each further batch needs one more zero bit where the network lets it in at all. What others have sent with the same key
 * is asked of the node once for each block.
 */
export function createBlockAllowance(service: SpamService): BlockAllowance {
  const blocks = new Map<string, { readonly height: bigint; readonly keys: Map<string, Promise<Served>> }>();

  function servedBy(
    block: LastBlockHeightResponse,
    publicKey: string,
    signal: AbortSignal | undefined,
  ): Promise<Served> {
    const known = blocks.get(block.hash) ?? { height: block.height, keys: new Map<string, Promise<Served>>() };
    blocks.set(block.hash, known);
    for (const [hash, { height }] of blocks) {
      if (height + BigInt(block.spamPowNumberOfPastBlocks) < block.height) {
        blocks.delete(hash);
      }
    }
    const served = known.keys.get(publicKey) ?? askServed(block, publicKey, signal);
    known.keys.set(publicKey, served);
    served.catch(() => known.keys.delete(publicKey));
    return served;
  }

  async function askServed(
    block: LastBlockHeightResponse,
    publicKey: string,
    signal: AbortSignal | undefined,
  ): Promise<Served> {
    const pow = await askStatistics(service, publicKey, signal);
    if (pow?.bannedUntil !== undefined && pow.bannedUntil !== "") {
      throw new RequestError(`the key ${publicKey} is banned until ${pow.bannedUntil} for bad proofs of work`, {
        advice: "Wait until then, or send with another key; nothing was sent.",
      });
    }
    const state = pow?.blockStates.find(({ blockHash }) => blockHash === block.hash);
    return { count: Number(state?.transactionsSeen ?? 0n), atLeast: Number(state?.expectedDifficulty ?? 0n) };
  }

  return {
    async take(publicKey, signal) {
      const until = performance.now() + LONGEST_WAIT_MS;
      for (;;) {
        const block = await service.lastBlockHeight({}, withSignal(signal));
        const served = await servedBy(block, publicKey, signal);
        const difficulty = difficultyOf(block, served);
        if (difficulty !== undefined) {
          served.count += 1;
          const { chainId, height, hash, spamPowHashFunction: hashFunction } = block;
          return { chainId, height, hash, difficulty, hashFunction };
        }
        if (performance.now() > until) {
          throw new RequestError(
            `block ${block.height} has served its transactions, and no next one came in a minute`,
            {
              advice: "Check that the network makes blocks; nothing was sent.",
            },
          );
        }
        await sleep(POLL_MS, undefined, withSignal(signal)).catch((cause: unknown) => {
          throw new CanceledError({ cause });
        });
      }
    },
  };
}

/** The statistics of proofs of work; none of a node that does not give them. */
async function askStatistics(
  service: SpamService,
  partyId: string,
  signal: AbortSignal | undefined,
): Promise<PoWStatistic | undefined> {
  try {
    const { statistics } = await service.getSpamStatistics({ partyId }, withSignal(signal));
    return statistics?.pow;
  } catch (reason) {
    if (reason instanceof NodeError && (reason.code === Code.Unimplemented || reason.code === Code.NotFound)) {
      return undefined;
    }
    throw reason;
  }
}

/** The difficulty of the next transaction on a block; `undefined` where it is better, or needed, to wait for the next block. */
function difficultyOf(block: LastBlockHeightResponse, { count, atLeast }: Served): number | undefined {
  const { spamPowDifficulty: difficulty, spamPowNumberOfTxPerBlock: perBlock } = block;
  const furtherBits = perBlock === 0 ? 0 : Math.floor(count / perBlock);
  if (furtherBits > (block.spamPowIncreasingDifficulty ? MOST_FURTHER_BITS : 0)) {
    return undefined;
  }
  return Math.min(Math.max(difficulty + furtherBits, atLeast), 256);
}
