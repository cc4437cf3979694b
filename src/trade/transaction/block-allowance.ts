import type { Client as ConnectClient } from "@connectrpc/connect";
import type { CoreService, LastBlockHeightResponse, PoWStatistic } from "../../../gen/client/vega/api/v1/core_pb.js";
import { Code } from "../../base/errors/code.js";
import { ConnectionError, RequestError } from "../../base/errors/index.js";
import { undefinedIf } from "../../base/errors/not-found.js";
import { isIntegerIn } from "../../base/input/assert.js";
import { type CallOptions, toConnectOptions } from "../../base/input/call-options.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { raceAbort } from "../../base/signal/abort.js";
import { wait } from "../../base/signal/wait.js";
import { type BlockTask, requireAffordable } from "./proof-of-work.js";
import type { KnownBlock, RecentBlocks } from "./recent-blocks.js";
import { countOne } from "./shared-count.js";
import type { SharedBlock, Signer, SignerShare } from "./signer.js";
import { requireChain } from "./signing-chain.js";
import { minValidity, type Validity } from "./validity.js";

/** The calls that find the block for a transaction. They throw the library's errors. */
export type SpamService = Pick<ConnectClient<typeof CoreService>, "lastBlockHeight" | "getSpamStatistics">;

/** A validity for approximately a duration: the smallest sufficient number of blocks. */
export interface ShortestValidity {
  /**
   * The time, in milliseconds. If the blocks that this client has seen do not allow it, the shortest possible validity is
   * chosen, or, while the block interval is unknown, the longest one.
   */
  readonly aboutMs: number;
}

/** The key whose transaction is tied to a block, and the limits. */
type TakeOptions = TakeSettings & (Validity | ShortestValidity);

interface TakeSettings {
  /** 64 hex digits. */
  readonly publicKey: string;
  /** Counts the transactions of all programs that share the key; by default, those of this client are counted. */
  readonly takeShare?: Signer["takeShare"] | undefined;
  /** The configured chain, if any. */
  readonly chainId: string | undefined;
  /** Maximum accepted difficulty, in zero bits. */
  readonly maxDifficulty: number;
  /** Additional headers of the requests. */
  readonly headers?: CallOptions["headers"];
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

/** A part of a block's allowance. */
export interface Share {
  /** The block to tie a transaction to, and the difficulty that its proof of work needs. */
  readonly block: BlockTask;
  /** The number of past blocks that transactions may be tied to. */
  readonly pastBlocks: number;
  /** The network may execute the transaction in this number of blocks after the node's last block. */
  readonly validForBlocks: number;
  /** Returns the share, because the transaction was not sent. Further calls have no effect. */
  giveBack(): void;
}

/** Counts the transactions that each key has tied to each block. */
export interface BlockAllowance {
  /**
   * Takes a share of the last block's allowance for one more transaction of a key. If none is left, it waits for the
   * next block.
   *
   * @throws {@link RequestError} if the node is on another chain or requires too much work, the key is banned, no known
   *   block is old enough for the validity, or no new block appears within a minute
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

/** Maximum number of blocks whose transactions are counted. For each validity, these are the most recently used blocks. */
const MAX_BLOCKS = 64;

interface Served {
  /** The node's count at the time of the request. */
  readonly seen: number;
  /** The minimum difficulty that the node required for the next one. */
  readonly atLeast: number;
  /** Those of this client, since then. */
  count: number;
}

/**
 * Creates an allowance that stays within the network's spam limits, so that no key is banned. A block hash serves
 * a limited number of transactions of a key. Each additional batch needs one more zero bit, if the network accepts it
 * at all. Once for each block, the client asks the node how many transactions other programs have sent with the same
 * key.
 */
export function createBlockAllowance(service: SpamService, recent: RecentBlocks): BlockAllowance {
  /** The counts by the block's hash and the public key. */
  const blocks = new Map<string, Map<string, Promise<Served>>>();

  /** Returns a count. All callers share the request to the node, so no caller's signal ends it. */
  function servedBy(
    block: KnownBlock,
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

  async function fetchServed(block: KnownBlock, publicKey: string, headers: CallOptions["headers"]): Promise<Served> {
    const pow = await fetchStatistics(service, publicKey, headers);
    if (pow?.bannedUntil !== undefined && pow.bannedUntil !== "") {
      throw new RequestError(
        `the node has banned the key ${publicKey} until ${pow.bannedUntil} for invalid proofs of work`,
        {
          advice: "Wait until then, or use another key. Nothing was sent.",
        },
      );
    }
    const state = pow?.blockStates.find(({ blockHash }) => blockHash === block.hash);
    return { seen: Number(state?.transactionsSeen ?? 0n), atLeast: Number(state?.expectedDifficulty ?? 0n), count: 0 };
  }

  return {
    async take({ publicKey, takeShare, chainId: named, maxDifficulty, headers, signal, ...validity }) {
      const until = monotonicMs() + MAX_WAIT_MS;
      let wanted: Validity | ShortestValidity = validity;
      for (;;) {
        const block = await readLastBlock(async () => {
          const answer = await service.lastBlockHeight({}, toConnectOptions({ signal, headers }));
          requireChain(answer.chainId, named);
          requireAffordable(answer.spamPowDifficulty, maxDifficulty);
          return answer;
        }, recent);
        const { chainId, spamPowHashFunction: hashFunction, spamPowNumberOfPastBlocks: pastBlocks } = block;
        const last = recent.last()?.height ?? block.height;
        const validForBlocks = (tied: KnownBlock) => pastBlocks - Number(last - tied.height);
        const isBehind = pastBlocks > 0 && validForBlocks(block) < minValidity(pastBlocks);
        const chain = { block, last, pastBlocks };
        // Once it is known in blocks it stays, so that a block that has served its transactions is followed by the next one.
        wanted = "aboutMs" in wanted ? { validForBlocks: blocksOfAbout(chain, wanted, recent) } : wanted;
        const tied = isBehind ? undefined : blockToTie(chain, wanted, recent);
        const served = tied && (await raceAbort(servedBy(tied, { publicKey, headers }), signal));
        const share =
          served && (takeShare === undefined ? countOne(served) : await takeSharedBy(takeShare, tied, signal));
        const difficulty = share && difficultyFor(block, { served, share }, maxDifficulty);
        if (tied !== undefined && share !== undefined && difficulty !== undefined) {
          const { height, hash } = tied;
          return {
            block: { chainId, height, hash, difficulty, hashFunction },
            pastBlocks,
            validForBlocks: validForBlocks(tied),
            giveBack: share.giveBack,
          };
        }
        if (monotonicMs() > until) {
          throw isBehind
            ? behind(block.height, last)
            : new RequestError(
                `block ${block.height} allows no more transactions, and no new block arrived within a minute`,
                {
                  advice: "Check that the network makes blocks. Nothing was sent.",
                },
              );
        }
        await wait(POLL_MS, signal);
      }
    },
  };
}

/** The error of a node that has lagged for a minute. */
function behind(height: bigint, last: bigint): RequestError {
  return new RequestError(`the node's last block is ${height}, but block ${last} is already known`, {
    advice: "Wait until the node has caught up, or use another node. Nothing was sent.",
  });
}

/** The last block of a node, the height of the last one that is known, and how many past blocks the network accepts. */
interface Chain {
  readonly block: KnownBlock;
  readonly last: bigint;
  readonly pastBlocks: number;
}

/**
 * Finds the block to tie a transaction to, so that it expires in time: the node's last one, or an older one. If the hash of the
 * exact one is not known, an older one is used, with which it expires earlier.
 */
function blockToTie({ block, last, pastBlocks }: Chain, validity: Validity, recent: RecentBlocks): KnownBlock {
  const blocks = blocksOf(validity, pastBlocks, recent);
  if (blocks === undefined || blocks === pastBlocks) {
    return block;
  }
  const min = minValidity(pastBlocks);
  if (blocks > pastBlocks) {
    throw new RequestError(
      `must be at most ${pastBlocks}, the number of blocks in which the network accepts a transaction (got ${blocks})`,
      {
        option: "validForBlocks",
        advice: `Use ${min} to ${pastBlocks}, or omit it. Nothing was sent.`,
      },
    );
  }
  if (blocks < min) {
    throw new RequestError(`must be at least ${min} blocks (got ${blocks})`, {
      option: validity.validForMs === undefined ? "validForBlocks" : "validForMs",
      advice: "An order that a market delays beyond its validity would stop the network. Nothing was sent.",
    });
  }
  const oldest = last - BigInt(pastBlocks - min);
  const exact = last - BigInt(pastBlocks - blocks);
  const newest = exact < block.height ? exact : block.height;
  const tied = recent.newestIn(oldest, newest);
  if (tied === undefined) {
    const shortest = pastBlocks - Number(last - (recent.oldestIn(newest, last)?.height ?? last));
    throw new RequestError(`no known block is old enough for a validity of ${blocks} blocks`, {
      advice: `The transaction needs one of the blocks ${oldest} to ${newest}, and this client has seen none of them. A client sees all blocks while it follows them, as client.intents() does. Wait ${shortest - blocks} blocks, or allow ${shortest}. Nothing was sent.`,
    });
  }
  return tied;
}

/** The validity in blocks of about a time, by the blocks that are known now; `undefined` if they allow no limit yet. */
function blocksOfAbout(
  { last, pastBlocks }: Omit<Chain, "block">,
  { aboutMs }: ShortestValidity,
  recent: RecentBlocks,
): number | undefined {
  const averageMs = recent.averageMs();
  const min = minValidity(pastBlocks);
  const oldest = recent.oldestIn(last - BigInt(pastBlocks - min), last);
  if (averageMs === undefined || oldest === undefined) {
    return undefined;
  }
  const shortest = pastBlocks - Number(last - oldest.height);
  return Math.min(Math.max(Math.ceil(aboutMs / averageMs), shortest), pastBlocks);
}

/** The validity in blocks; `undefined` if the caller does not limit it. */
function blocksOf({ validForBlocks, validForMs }: Validity, past: number, recent: RecentBlocks): number | undefined {
  if (validForMs === undefined) {
    return validForBlocks;
  }
  const averageMs = recent.averageMs();
  if (averageMs === undefined) {
    throw new RequestError("the block interval is unknown, so a time cannot be converted to blocks", {
      advice:
        "A client sees the times of blocks while it follows them, as client.intents() does. Wait two blocks, or use validForBlocks. Nothing was sent.",
    });
  }
  return Math.min(Math.floor(validForMs / averageMs), past);
}

/**
 * Counts one more transaction with all programs that share the key. A share that arrives after the signal was aborted is
 * returned.
 */
async function takeSharedBy(
  takeShare: NonNullable<Signer["takeShare"]>,
  { height, hash }: SharedBlock,
  signal: AbortSignal,
): Promise<SignerShare | undefined> {
  const taking = Promise.resolve(takeShare({ height, hash }));
  const share = await raceAbort(taking, signal).catch((reason: unknown) => {
    taking.then(
      (late) => late?.giveBack(),
      () => undefined,
    );
    throw reason;
  });
  if (share !== undefined && (!isIntegerIn(share?.count, 0, Number.MAX_SAFE_INTEGER) || !isFunction(share.giveBack))) {
    throw new RequestError("the signer's takeShare() did not return a share", {
      advice: "It must return { count, giveBack() }, or undefined if a later block must be used. Nothing was sent.",
    });
  }
  return share && { count: share.count, giveBack: () => share.giveBack() };
}

const isFunction = (value: unknown) => typeof value === "function";

/** The difficulty of a share. One that cannot be used is given back. */
function difficultyFor(
  block: LastBlockHeightResponse,
  { served: { seen, atLeast }, share }: { readonly served: Served; readonly share: SignerShare },
  maxDifficulty: number,
): number | undefined {
  let difficulty: number | undefined;
  try {
    difficulty = difficultyOf(block, { count: seen + share.count, atLeast }, maxDifficulty);
  } finally {
    if (difficulty === undefined) {
      share.giveBack();
    }
  }
  return difficulty;
}

/** A key's statistics of proofs of work; `undefined` if the node has none or does not offer them. */
async function fetchStatistics(
  service: SpamService,
  partyId: string,
  headers: CallOptions["headers"],
): Promise<PoWStatistic | undefined> {
  const answer = await service
    .getSpamStatistics({ partyId }, toConnectOptions({ headers }))
    .catch(undefinedIf(Code.Unimplemented, Code.NotFound));
  return answer?.statistics?.pow;
}

/**
 * The difficulty of the next transaction on a block; `undefined` if waiting for the next block is better or
 * required.
 */
function difficultyOf(
  block: LastBlockHeightResponse,
  { count, atLeast }: { readonly count: number; readonly atLeast: number },
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

/** Maximum number of requests to a node. */
const MAX_READINGS = 5;

/**
 * Reads the last block of a node, and repeats the request until the block is accepted, as {@link RecentBlocks}
 * describes.
 *
 * @throws {@link ConnectionError} if the responses contradict each other, and the errors of `ask`
 */
export async function readLastBlock<Block extends KnownBlock>(
  ask: () => Promise<Block>,
  recent: RecentBlocks,
): Promise<Block> {
  const heights: bigint[] = [];
  while (heights.length < MAX_READINGS) {
    const block = await ask();
    if (recent.add(block)) {
      return block;
    }
    heights.push(block.height);
  }
  throw new ConnectionError(`the node reported contradictory last blocks: ${heights.join(", ")}`, {
    code: Code.Unavailable,
    advice: "Nothing was sent. Try again, or use another node.",
    connected: false,
  });
}
