export type { ChainSettings } from "../../src/transaction/chain-to-sign.js";
export { isSpecified } from "../../src/transaction/check/index.js";
export { searchNonces } from "../../src/transaction/nonce-search.js";
export { openTransactionSync, proofProblem } from "../../src/transaction/verify.js";
