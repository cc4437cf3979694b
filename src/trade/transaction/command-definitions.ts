// What needs the definitions of all commands, which are large.
export { CoreStateService } from "../../../gen/vega/api/v1/corestate_pb.js";
export { haltingProblem, unknownParameterProblem } from "./check/halting-commands.js";
export { encodeInputData, readCommand } from "./input-data.js";
export { readInputData } from "./submitted-input-data.js";
export { openTransactionSync } from "./verify-transaction.js";
