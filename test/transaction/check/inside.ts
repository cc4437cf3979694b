export { haltingProblem } from "../../../src/transaction/check/halting-commands.js";
export { networkProblems } from "../../../src/transaction/check/index.js";
