import { setTimeout as sleep } from "node:timers/promises";
import { Code, type Client as ConnectClient } from "@connectrpc/connect";
import type { CoreService, LastBlockHeightResponse, PoWStatistic } from "../../gen/vega/api/v1/core_pb.js";
import { CanceledError, NodeError, RequestError } from "../errors/index.js";
import { requireChain } from "./chain-to-sign.js";
import type { BlockTask } from "./transaction.js";
import { withSignal } from "./with-signal.js";

/** The calls that find the block for a transaction. They throw the library's errors. */
export type SpamService = Pick<ConnectClient<typeof CoreService>, "lastBlockHeight" | "getSpamStatistics">;

/** Counts the transactions that each key has tied to each block. */
export interface BlockAllowance {
  /**
   * Take one more transaction of a key out of the last block's allowance. Where none is left, wait for the next block.
   *
   * @param publicKey 64 hex digits
   * @param chainId the chain that the user has named, if there is one
   * @param signal ends the waiting
   * @returns the block to tie it to, and the difficulty that its proof of work needs
   * @throws {@link RequestError} where the node is on another chain, the key is banned, or no next block comes within a
   *   minute
   * @throws {@link CanceledError} where the signal was aborted
   */
  take(publicKey: string, chainId: string | undefined, signal: AbortSignal | undefined): Promise<BlockTask>;
}

/**
 * The most zero bits beyond the block's own that are spent on one more transaction. Each bit doubles the work; beyond
 * this number, waiting for the next block takes less time, as a network makes one about once a second.
 */
const MOST_FURTHER_BITS = 3;

/** The pause between requests for the last block while waiting, and the longest wait, in milliseconds. */
const POLL_MS = 200;
const LONGEST_WAIT_MS = 60_000;

/** How many transactions of a key a block has served, and the least difficulty that the node wants for the next one. */
interface Served {
  count: number;
  readonly atLeast: number;
}

/**
 * Make an allowance, which keeps within the network's limits against spam so that no key is banned. A block hash serves
 * a limited number of transactions of a key. Each further batch needs one more zero bit, where the network accepts it
 * at all. The node is asked once for each block how many transactions other programs have sent with the same key.
 *
 * @param service a client whose methods throw the library's errors
 * @returns the allowance, which must be shared by all transactions of a client
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
    async take(publicKey, named, signal) {
      const until = performance.now() + LONGEST_WAIT_MS;
      for (;;) {
        const block = await service.lastBlockHeight({}, withSignal(signal));
        requireChain(block.chainId, named);
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

/** A key's statistics of proofs of work; `undefined` where the node has none or does not offer them. */
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

/**
 * The difficulty of the next transaction on a block; `undefined` where waiting for the next block is better or
 * required.
 */
function difficultyOf(block: LastBlockHeightResponse, { count, atLeast }: Served): number | undefined {
  const { spamPowDifficulty: difficulty, spamPowNumberOfTxPerBlock: perBlock } = block;
  const furtherBits = perBlock === 0 ? 0 : Math.floor(count / perBlock);
  if (furtherBits > (block.spamPowIncreasingDifficulty ? MOST_FURTHER_BITS : 0)) {
    return undefined;
  }
  return Math.min(Math.max(difficulty + furtherBits, atLeast), 256);
}
