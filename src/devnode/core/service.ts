import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { type CoreService, SubmitTransactionRequest_Type } from "../../../gen/vega/api/v1/core_pb.js";
import { type Transaction, TransactionSchema } from "../../../gen/vega/commands/v1/transaction_pb.js";
import type { Profile } from "../../schema/profile.js";
import { hashOfBytes, networkBytes } from "../../transaction/transaction-hash.js";
import { eventBus } from "../data/event-bus.js";
import type { Streams } from "../data/observe.js";
import { type Blocks, expectedDifficulty, type SpamRules } from "./blocks.js";
import type { LocalChain } from "./chain.js";
import { outcome } from "./outcome.js";
import { createStatistics, type StatisticsOptions } from "./statistics.js";

type CoreMethods = Omit<ServiceImpl<typeof CoreService>, "propagateChainEvent">;

/** What {@link coreMethods} answers from. */
export interface CoreOptions extends StatisticsOptions {
  /** Takes transactions. */
  readonly chain: Pick<LocalChain, "counts" | "check" | "submit" | "nextBlock">;
  readonly blocks: Blocks;
  readonly rules: SpamRules;
  readonly streams: Streams;
  /** Whether refusals have the form of the specification, the default, or that of deployed nodes. */
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
  const { chain, chainId, rules, blocks, profile = "specification" } = options;
  const statistics = createStatistics(options);

  async function submit(transaction: Transaction, bytes: Uint8Array, type: SubmitTransactionRequest_Type) {
    const txHash = hashOfBytes(bytes);
    // Deployed nodes do not look at the type.
    switch (profile === "deployed" ? SubmitTransactionRequest_Type.SYNC : type) {
      case SubmitTransactionRequest_Type.UNSPECIFIED:
      case SubmitTransactionRequest_Type.ASYNC:
        chain.submit(transaction, bytes); // An asynchronous submission does not report a refusal.
        return { success: true, txHash };
      case SubmitTransactionRequest_Type.SYNC:
        return { txHash, ...outcome(chain.submit(transaction, bytes), profile) };
      case SubmitTransactionRequest_Type.COMMIT: {
        const refusal = chain.submit(transaction, bytes);
        if (refusal === undefined) {
          await chain.nextBlock();
        }
        return { txHash, ...outcome(refusal, profile) };
      }
      default:
        throw new ConnectError(`type is ${String(type)}, which is no type of submission`, Code.InvalidArgument);
    }
  }

  return {
    async submitTransaction({ tx, type }) {
      const transaction = required(tx);
      return submit(transaction, networkBytes(transaction), type);
    },

    async submitRawTransaction({ tx, type }) {
      // Both methods number the types alike.
      return submit(fromBytes(tx), tx, Number(type));
    },

    async checkTransaction({ tx }) {
      return outcome(chain.check(required(tx)), profile);
    },

    async checkRawTransaction({ tx }) {
      return outcome(chain.check(fromBytes(tx)), profile);
    },

    observeEventBus: eventBus(options),

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
      if (!/^[0-9a-f]{64}$/.test(partyId)) {
        throw new ConnectError("partyId is not a public key of 64 hex digits", Code.InvalidArgument);
      }
      const blockStates = blocks.recent().map(({ height, hash, usage }) => {
        const used = usage.get(partyId) ?? { seen: 0, zeroBits: 0 };
        const difficulty = expectedDifficulty(rules, used);
        return {
          blockHeight: height,
          blockHash: hash,
          transactionsSeen: BigInt(used.seen),
          ...(difficulty === undefined ? {} : { expectedDifficulty: BigInt(difficulty) }),
          hashFunction: rules.hashFunction,
          difficulty: BigInt(rules.difficulty),
          txPerBlock: BigInt(rules.transactionsPerBlock),
          increasingDifficulty: rules.increasing,
        };
      });
      return { chainId, statistics: { pow: { blockStates, numberOfPastBlocks: BigInt(rules.pastBlocks) } } };
    },
  };
}

function required(tx: Transaction | undefined): Transaction {
  if (tx === undefined) {
    throw new ConnectError("tx is required", Code.InvalidArgument);
  }
  return tx;
}

function fromBytes(bytes: Uint8Array): Transaction {
  try {
    return fromBinary(TransactionSchema, bytes);
  } catch (cause) {
    throw new ConnectError("tx is not a serialized transaction", Code.InvalidArgument, undefined, undefined, cause);
  }
}
