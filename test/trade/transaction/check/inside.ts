export { haltingProblem } from "../../../../src/trade/transaction/check/halting-commands.js";
export { networkProblems } from "../../../../src/trade/transaction/check/index.js";
