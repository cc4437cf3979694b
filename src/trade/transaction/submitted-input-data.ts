import type { Transaction } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { type InputData, InputDataSchema } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { tryDecode } from "../../base/input/decode.js";
import { submittedPrefix } from "./signature.js";

/**
 * Reads the input data of a transaction, with or without the chain's identifier in front. Its
 * signature is not checked.
 */
export function readInputData({ inputData }: Pick<Transaction, "inputData">): InputData | undefined {
  return tryDecode(InputDataSchema, inputData.subarray(submittedPrefix(inputData).length));
}
