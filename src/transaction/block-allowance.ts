import { Code, type Client as ConnectClient } from "@connectrpc/connect";
import type { CoreService, LastBlockHeightResponse, PoWStatistic } from "../../gen/client/vega/api/v1/core_pb.js";
import { NodeError, RequestError } from "../errors/index.js";
import { type CallOptions, toConnectOptions } from "../input/call-options.js";
import { monotonicMs } from "../runtime/index.js";
import { raceAbort } from "../signal/abort.js";
import { wait } from "../signal/wait.js";
import type { BlockTask } from "./proof-of-work.js";
import { requireAffordable } from "./proof-of-work.js";
import { requireChain } from "./signing-chain.js";

/** The calls that find the block for a transaction. They throw the library's errors. */
export type SpamService = Pick<ConnectClient<typeof CoreService>, "lastBlockHeight" | "getSpamStatistics">;

/** Whose transaction is to be tied to a block, and within which limits. */
export interface TakeOptions {
  /** 64 hex digits. */
  readonly publicKey: string;
  /** The chain that the user has named, if there is one. */
  readonly chainId: string | undefined;
  /** Maximum difficulty to work for, in zero bits. */
  readonly maxDifficulty: number;
  /** Further headers of the requests. */
  readonly headers?: CallOptions["headers"];
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

/** A part of a block's allowance. */
export interface Share {
  /** The block to tie a transaction to, and the difficulty that its proof of work needs. */
  readonly block: BlockTask;
  /** How many blocks back the network takes transactions that are tied to one. */
  readonly pastBlocks: number;
  /** Gives the share back, because the transaction was not sent. Further calls have no effect. */
  giveBack(): void;
}

/** Counts the transactions that each key has tied to each block. */
export interface BlockAllowance {
  /**
   * Takes one more transaction of a key out of the last block's allowance. If none is left, it waits for the next block.
   *
   * @param options the key, the chain, the most difficulty, and a signal that ends the waiting
   * @returns the part, which has to be given back where the transaction is not sent
   * @throws {@link RequestError} if the node is on another chain or asks for too much work, the key is banned, or no
   *   next block comes within a minute
   * @throws {@link CanceledError} if the signal was aborted
   */
  take(options: TakeOptions): Promise<Share>;
}

/**
 * The most zero bits beyond the block's own that are spent on one more transaction. Each bit doubles the work; beyond
 * this number, waiting for the next block takes less time, as a network makes one about once a second.
 */
const MAX_EXTRA_BITS = 3;

/** The pause between requests for the last block while waiting, and the longest wait, in milliseconds. */
const POLL_MS = 200;
const MAX_WAIT_MS = 60_000;

/** Maximum number of blocks whose transactions are counted. Only the last one is used; nodes may be some blocks apart. */
const MAX_BLOCKS = 16;

/** How many transactions of a key a block has served, and the least difficulty that the node wants for the next one. */
interface Served {
  count: number;
  readonly atLeast: number;
}

/**
 * Creates an allowance, which keeps within the network's limits against spam so that no key is banned. A block hash serves
 * a limited number of transactions of a key. Each further batch needs one more zero bit, where the network accepts it
 * at all. The node is asked once for each block how many transactions other programs have sent with the same key.
 *
 * @param service a client whose methods throw the library's errors
 * @returns the allowance, which must be shared by all transactions of a client
 */
export function createBlockAllowance(service: SpamService): BlockAllowance {
  /** The counts by the block's hash and the public key. */
  const blocks = new Map<string, Map<string, Promise<Served>>>();

  /** Returns a count. All callers share the request to the node, so no caller's signal ends it. */
  function servedBy(
    block: LastBlockHeightResponse,
    { publicKey, headers }: Pick<TakeOptions, "publicKey" | "headers">,
  ): Promise<Served> {
    const keys = blocks.get(block.hash) ?? new Map<string, Promise<Served>>();
    blocks.set(block.hash, keys);
    for (const hash of [...blocks.keys()].slice(0, -MAX_BLOCKS)) {
      blocks.delete(hash);
    }
    const known = keys.get(publicKey);
    if (known !== undefined) {
      return known;
    }
    const asked = fetchServed(block, publicKey, headers);
    keys.set(publicKey, asked);
    asked.catch(() => keys.delete(publicKey)); // The next one asks again.
    return asked;
  }

  async function fetchServed(
    block: LastBlockHeightResponse,
    publicKey: string,
    headers: CallOptions["headers"],
  ): Promise<Served> {
    const pow = await fetchStatistics(service, publicKey, headers);
    if (pow?.bannedUntil !== undefined && pow.bannedUntil !== "") {
      throw new RequestError(`the key ${publicKey} is banned until ${pow.bannedUntil} for bad proofs of work`, {
        advice: "Wait until then, or send with another key; nothing was sent.",
      });
    }
    const state = pow?.blockStates.find(({ blockHash }) => blockHash === block.hash);
    return { count: Number(state?.transactionsSeen ?? 0n), atLeast: Number(state?.expectedDifficulty ?? 0n) };
  }

  return {
    async take({ publicKey, chainId: named, maxDifficulty, headers, signal }) {
      const until = monotonicMs() + MAX_WAIT_MS;
      for (;;) {
        const block = await service.lastBlockHeight({}, toConnectOptions({ signal, headers }));
        requireChain(block.chainId, named);
        requireAffordable(block.spamPowDifficulty, maxDifficulty);
        const served = await raceAbort(servedBy(block, { publicKey, headers }), signal);
        const difficulty = difficultyOf(block, served, maxDifficulty);
        if (difficulty !== undefined) {
          const { chainId, height, hash, spamPowHashFunction: hashFunction } = block;
          return {
            block: { chainId, height, hash, difficulty, hashFunction },
            pastBlocks: block.spamPowNumberOfPastBlocks,
            giveBack: countOne(served),
          };
        }
        if (monotonicMs() > until) {
          throw new RequestError(
            `block ${block.height} has served its transactions, and no next one came in a minute`,
            {
              advice: "Check that the network makes blocks; nothing was sent.",
            },
          );
        }
        await wait(POLL_MS, signal);
      }
    },
  };
}

/** Counts one more transaction, and returns the function that undoes it. */
function countOne(served: Served): () => void {
  served.count += 1;
  let isBack = false;
  return () => {
    served.count -= isBack ? 0 : 1;
    isBack = true;
  };
}

/** A key's statistics of proofs of work; `undefined` if the node has none or does not offer them. */
async function fetchStatistics(
  service: SpamService,
  partyId: string,
  headers: CallOptions["headers"],
): Promise<PoWStatistic | undefined> {
  try {
    const { statistics } = await service.getSpamStatistics({ partyId }, toConnectOptions({ headers }));
    return statistics?.pow;
  } catch (reason) {
    if (reason instanceof NodeError && (reason.code === Code.Unimplemented || reason.code === Code.NotFound)) {
      return undefined;
    }
    throw reason;
  }
}

/**
 * The difficulty of the next transaction on a block; `undefined` if waiting for the next block is better or
 * required.
 */
function difficultyOf(
  block: LastBlockHeightResponse,
  { count, atLeast }: Served,
  maxDifficulty: number,
): number | undefined {
  const { spamPowDifficulty, spamPowNumberOfTxPerBlock: perBlock } = block;
  const furtherBits = perBlock === 0 ? 0 : Math.floor(count / perBlock);
  const difficulty = Math.max(spamPowDifficulty + furtherBits, atLeast);
  if (furtherBits === 0) {
    requireAffordable(difficulty, maxDifficulty); // A next block would ask for the same.
    return difficulty;
  }
  const most = block.spamPowIncreasingDifficulty ? MAX_EXTRA_BITS : 0;
  return furtherBits > most || difficulty > maxDifficulty ? undefined : difficulty;
}
