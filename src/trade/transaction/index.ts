/**
 * Creates, signs and checks transactions offline: keys, transactions and proofs of work. It loads no code that calls a node.
 *
 * @module tradewire/transaction
 */

export { type Transaction, TransactionSchema, TxVersion } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
export {
  CanceledError,
  CommandError,
  FileError,
  ProtocolError,
  RequestError,
  TradewireError,
} from "../../base/errors/index.js";
export type { Command, Problem } from "./check/field-rules.js";
export { commandProblems } from "./check/index.js";
export type { CommandInit, CommandSource, RawInputData } from "./input-data.js";
export { createKeyFile, signerFromKeyFile } from "./key-file.js";
export { type MnemonicOptions, signerFromMnemonic } from "./mnemonic.js";
export {
  type BlockTask,
  type ProofOfWork,
  type ProofOfWorkTask,
  type SolveOptions,
  solve as solveProofOfWork,
  verify as verifyProofOfWork,
} from "./proof-of-work.js";
export { withSharedCount } from "./shared-count.js";
export { type ChainIdPrefix, transactionHash, verifySignature } from "./signature.js";
export {
  type SeedSigner,
  type SharedBlock,
  type Signer,
  type SignerShare,
  signerFromEnvironment,
  signerFromSeed,
} from "./signer.js";
export {
  createTransaction,
  openTransaction,
  type TransactionForm,
  type TransactionOptions,
} from "./transaction.js";
export type { Chain, OpenedTransaction } from "./verify-transaction.js";
