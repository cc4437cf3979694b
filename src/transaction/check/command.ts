import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";

/** A command that input data may hold, by its name and its message. */
export type Command = Extract<InputData["command"], { readonly case: string }>;
