export { haltingProblem } from "../../../src/transaction/check/halting.js";
export { networkProblems } from "../../../src/transaction/check/index.js";
