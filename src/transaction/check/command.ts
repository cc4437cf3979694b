import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";

/** A command of those that input data may hold. */
export type Command = Extract<InputData["command"], { readonly case: string }>;
