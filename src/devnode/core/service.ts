import { Code, type ServiceImpl } from "@connectrpc/connect";
import {
  type CoreService,
  SubmitRawTransactionRequest_Type,
  SubmitTransactionRequest_Type,
} from "../../../gen/vega/api/v1/core_pb.js";
import type { Profile } from "../../schema/profile.js";
import { apiError } from "../api-error.js";
import { eventBus } from "../data/event-bus.js";
import type { Streams } from "../data/observe.js";
import type { Outcome } from "../engine/engine.js";
import { type Blocks, expectedDifficulty, type SpamBlock, type SpamRules } from "./blocks.js";
import { type LocalChain, receivedBytes, receivedTransaction } from "./chain.js";
import { CODE, type Received, type Refusal } from "./examine.js";
import type { SpamPolicies } from "./spam-policies.js";
import { createStatistics, type StatisticsOptions } from "./statistics.js";
import { errorText } from "./transaction-result.js";

type CoreMethods = Omit<ServiceImpl<typeof CoreService>, "propagateChainEvent">;

/** What {@link coreMethods} answers from. */
export interface CoreOptions extends StatisticsOptions {
  /** Takes transactions. */
  readonly chain: Pick<LocalChain, "counts" | "check" | "submit" | "nextBlock">;
  readonly blocks: Blocks;
  readonly rules: SpamRules;
  readonly policies: Pick<SpamPolicies, "statistics">;
  readonly streams: Streams;
  /** Whether `type` is honored, as the specification has it (the default), or ignored, as deployed nodes do. */
  readonly profile?: Profile | undefined;
}

/**
 * Implement the methods that check and submit transactions (specification, 4.2), and those that describe the last blocks
 * and the chain, and the one that streams events.
 *
 * @param options the chain that takes the transactions, its identifier and rules, how things stand and the open streams
 * @returns the methods of the core service
 */
export function coreMethods(options: CoreOptions): CoreMethods {
  const { chain, chainId, rules, blocks, policies } = options;
  const statistics = createStatistics(options);
  const taken = (received: Received): Refusal | undefined => {
    const submitted = chain.submit(received);
    if (submitted === "in cache") {
      throw apiError(Code.Internal, "tx already exists in cache");
    }
    return submitted;
  };

  return {
    async submitTransaction({ tx, type }) {
      if (tx === undefined) {
        throw apiError(Code.Internal, "proto: Marshal called with nil");
      }
      const received = receivedTransaction(tx);
      const { txHash } = received;
      const refusal = taken(received);
      switch (options.profile === "deployed" ? SubmitTransactionRequest_Type.SYNC : type) {
        case SubmitTransactionRequest_Type.UNSPECIFIED:
        case SubmitTransactionRequest_Type.ASYNC:
          return { success: true, txHash }; // An asynchronous submission does not report a refusal.
        case SubmitTransactionRequest_Type.COMMIT:
          if (refusal === undefined) {
            await chain.nextBlock();
          }
      }
      return { txHash, success: refusal === undefined, ...refusal };
    },

    async submitRawTransaction({ tx, type }) {
      if (!RAW_TYPES.includes(type)) {
        throw apiError(Code.InvalidArgument, "Invalid TX Type");
      }
      const received = receivedBytes(tx);
      const { txHash } = received;
      const refusal = taken(received);
      if (type === SubmitRawTransactionRequest_Type.SYNC) {
        return { success: true, txHash, code: refusal?.code ?? 0, data: hex(refusal?.data ?? "") };
      }
      if (type === SubmitRawTransactionRequest_Type.ASYNC || refusal !== undefined) {
        return { success: true, txHash };
      }
      const { block, outcomes } = await chain.nextBlock();
      const outcome = outcomes.get(txHash);
      if (outcome === undefined) {
        throw apiError(Code.Internal, "error on broadcastTxCommit: timed out waiting for tx to be included in a block");
      }
      return { success: true, txHash, height: block.height, ...committed(outcome) };
    },

    async checkTransaction({ tx }) {
      return tx === undefined
        ? checked({ code: CODE.decoding, data: "tx (is required)" })
        : checked(chain.check(receivedTransaction(tx)));
    },

    async checkRawTransaction({ tx }) {
      return checked(chain.check(receivedBytes(tx)));
    },

    observeEventBus: eventBus(options, "core"),

    statistics: () => ({ statistics: statistics() }),
    getVegaTime: () => ({ timestamp: blocks.last().time }),

    async lastBlockHeight() {
      const { height, hash } = blocks.last();
      return {
        height,
        hash,
        chainId,
        spamPowHashFunction: rules.hashFunction,
        spamPowDifficulty: rules.difficulty,
        spamPowNumberOfPastBlocks: rules.pastBlocks,
        spamPowNumberOfTxPerBlock: rules.transactionsPerBlock,
        spamPowIncreasingDifficulty: rules.increasing,
      };
    },

    async getSpamStatistics({ partyId }) {
      if (partyId === "") {
        throw apiError(Code.InvalidArgument, "empty or missing party ID");
      }
      const used = blocks.recent().filter((block) => block === blocks.last() || block.usage.has(partyId));
      const blockStates = used.map((block) => blockState(block, partyId, rules));
      const pow = { blockStates, numberOfPastBlocks: BigInt(rules.pastBlocks) };
      return { chainId, statistics: { ...policies.statistics(partyId), pow } };
    },
  };
}

const RAW_TYPES = [
  SubmitRawTransactionRequest_Type.ASYNC,
  SubmitRawTransactionRequest_Type.SYNC,
  SubmitRawTransactionRequest_Type.COMMIT,
];

/** The answer to a check. A reason of code 89 is in `data` alone (`core/processor/abci.go`). */
function checked(refusal: Refusal | undefined) {
  if (refusal === undefined) {
    return { success: true, gasWanted: 1n };
  }
  return { success: false, ...refusal, info: refusal.code === CODE.spam ? "" : refusal.data };
}

/** The part of the answer to a raw submission of type COMMIT that says how the transaction was executed. */
function committed(outcome: Outcome): Refusal {
  if (outcome.status === "success") {
    return { code: 0, data: "" };
  }
  const code = outcome.status === "partial" ? CODE.partlyFailed : CODE.failed;
  return { code, data: hex(errorText(outcome)) };
}

/** Raw submissions have their reasons in upper-case hex (`setResponseBasisContent` in `core/api/core.go`). */
function hex(text: string): string {
  return Buffer.from(text).toString("hex").toUpperCase();
}

function blockState({ height, hash, usage }: SpamBlock, partyId: string, rules: SpamRules) {
  const used = usage.get(partyId) ?? { seen: 0, zeroBits: 0 };
  const difficulty = expectedDifficulty(rules, used);
  return {
    blockHeight: height,
    blockHash: hash,
    transactionsSeen: BigInt(used.seen),
    ...(difficulty !== undefined && { expectedDifficulty: BigInt(difficulty) }),
    hashFunction: rules.hashFunction,
    difficulty: BigInt(rules.difficulty),
    txPerBlock: BigInt(rules.transactionsPerBlock),
    increasingDifficulty: rules.increasing,
  };
}
