import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { PGlite } from "@electric-sql/pglite";
import { type CoreService, SubmitTransactionRequest_Type } from "../../../gen/vega/api/v1/core_pb.js";
import { type Transaction, TransactionSchema } from "../../../gen/vega/commands/v1/transaction_pb.js";
import type { Streams } from "../data/observe.js";
import { expectedDifficulty, type SpamRules } from "./blocks.js";
import { type LocalChain, type Refusal, transactionHash } from "./chain.js";
import { createStatistics } from "./statistics.js";

type CoreMethods = Omit<ServiceImpl<typeof CoreService>, "observeEventBus" | "propagateChainEvent">;

/** What {@link coreMethods} answers from. */
export interface CoreOptions {
  readonly chain: LocalChain;
  readonly chainId: string;
  readonly rules: SpamRules;
  readonly pg: PGlite;
  readonly streams: Streams;
}

/**
 * Implement the methods that check and submit transactions (specification, 4.2), and those that describe the last blocks
 * and the chain.
 *
 * @param options the chain that takes the transactions, its identifier and rules, the database and the open streams
 * @returns the methods of the core service
 */
export function coreMethods(options: CoreOptions): CoreMethods {
  const { chain, chainId, rules, pg } = options;
  const statistics = createStatistics(options);

  async function submit(transaction: Transaction, txHash: string, type: SubmitTransactionRequest_Type) {
    switch (type) {
      case SubmitTransactionRequest_Type.UNSPECIFIED:
      case SubmitTransactionRequest_Type.ASYNC:
        chain.submit(transaction); // An asynchronous submission does not report a refusal.
        return { success: true, txHash };
      case SubmitTransactionRequest_Type.SYNC:
        return { txHash, ...outcome(chain.submit(transaction)) };
      case SubmitTransactionRequest_Type.COMMIT: {
        const refusal = chain.submit(transaction);
        if (refusal === undefined) {
          await chain.nextBlock();
        }
        return { txHash, ...outcome(refusal) };
      }
      default:
        throw new ConnectError(`type is ${String(type)}, which is no type of submission`, Code.InvalidArgument);
    }
  }

  return {
    async submitTransaction({ tx, type }) {
      const transaction = required(tx);
      return submit(transaction, transactionHash(toBinary(TransactionSchema, transaction)), type);
    },

    async submitRawTransaction({ tx, type }) {
      // Both methods number the types alike.
      return submit(fromBytes(tx), transactionHash(tx), Number(type));
    },

    async checkTransaction({ tx }) {
      return outcome(chain.check(required(tx)));
    },

    async checkRawTransaction({ tx }) {
      return outcome(chain.check(fromBytes(tx)));
    },

    async statistics() {
      return { statistics: await statistics(pg) };
    },

    getVegaTime: () => ({ timestamp: chain.blocks.last().time }),

    async lastBlockHeight() {
      const { height, hash } = chain.blocks.last();
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
      const blockStates = chain.blocks.recent().map(({ height, hash, usage }) => {
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

/**
 * A refusal as a submission result (specification, 2.6). `data` is a JSON object: problems by the path of the field.
 */
function outcome(refusal: Refusal | undefined): { success: boolean; code: number; data: string; log: string } {
  if (refusal === undefined) {
    return { success: true, code: 0, data: "", log: "" };
  }
  const reasons = new Map<string, string[]>();
  for (const { path, message } of refusal.problems) {
    reasons.set(path, [...(reasons.get(path) ?? []), message]);
  }
  const data = JSON.stringify(Object.fromEntries(reasons));
  const log = refusal.problems.map(({ path, message }) => `${path} ${message}`).join("; ");
  return { success: false, code: refusal.code, data, log };
}
