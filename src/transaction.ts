/**
 * Keys, transactions made, signed and checked, and proofs of work, without what calls a node.
 *
 * @module tradewire/transaction
 */

export { type Transaction, TransactionSchema, TxVersion } from "../gen/client/vega/commands/v1/transaction_pb.js";
export {
  CanceledError,
  CommandError,
  FileError,
  ProtocolError,
  RequestError,
  TradewireError,
} from "./errors/index.js";
export { type Command, commandProblems, type Problem } from "./transaction/check/index.js";
export type { CommandInit, CommandSource, RawInputData } from "./transaction/input-data.js";
export { createKeyFile, signerFromKeyFile } from "./transaction/key-file.js";
export { type MnemonicOptions, signerFromMnemonic } from "./transaction/mnemonic.js";
export { openTransaction } from "./transaction/open.js";
export {
  type ProofOfWork,
  type ProofOfWorkTask,
  type SolveOptions,
  solve as solveProofOfWork,
  verify as verifyProofOfWork,
} from "./transaction/proof-of-work.js";
export { verifySignature } from "./transaction/signature.js";
export { type SeedSigner, type Signer, signerFromEnvironment, signerFromSeed } from "./transaction/signer.js";
export {
  type BlockTask,
  type ChainIdPrefix,
  createTransaction,
  type TransactionForm,
  type TransactionOptions,
} from "./transaction/transaction.js";
export { transactionHash } from "./transaction/transaction-hash.js";
export type { Chain, OpenedTransaction } from "./transaction/verify.js";
