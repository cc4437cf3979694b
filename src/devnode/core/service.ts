import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { type CoreService, SubmitTransactionRequest_Type } from "../../../gen/vega/api/v1/core_pb.js";
import type { Transaction } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { expectedDifficulty, type SpamRules } from "./blocks.js";
import { type LocalChain, type Refusal, transactionHash } from "./chain.js";

type TransactionService = Pick<
  ServiceImpl<typeof CoreService>,
  "submitTransaction" | "checkTransaction" | "lastBlockHeight" | "getSpamStatistics"
>;

/**
 * Implement the methods that check and submit transactions and describe the last blocks (specification, 4.2).
 *
 * @param chain the chain that takes the transactions
 * @param chainId identifier of the chain
 * @param rules the network's rules for proofs of work
 * @returns the methods of the core service that are about transactions
 */
export function coreService(chain: LocalChain, chainId: string, rules: SpamRules): TransactionService {
  return {
    async submitTransaction({ tx, type }) {
      const transaction = required(tx);
      const txHash = transactionHash(transaction);
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
    },

    async checkTransaction({ tx }) {
      return outcome(chain.check(required(tx)));
    },

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
