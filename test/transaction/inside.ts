export { isSpecified } from "../../src/transaction/check/index.js";
export { searchNonces } from "../../src/transaction/proof-of-work-search.js";
export { createRecentBlocks } from "../../src/transaction/recent-blocks.js";
export type { ChainSettings } from "../../src/transaction/signing-chain.js";
export { openTransactionSync, proofProblem } from "../../src/transaction/verify-transaction.js";
