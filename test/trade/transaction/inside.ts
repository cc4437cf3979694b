export { searchNonces } from "../../../src/trade/transaction/proof-of-work-search.js";
export { createRecentBlocks } from "../../../src/trade/transaction/recent-blocks.js";
export type { ChainSettings } from "../../../src/trade/transaction/signing-chain.js";
export { openTransactionSync, proofProblem } from "../../../src/trade/transaction/verify-transaction.js";
