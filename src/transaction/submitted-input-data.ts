import { fromBinary } from "@bufbuild/protobuf";
import type { Transaction } from "../../gen/client/vega/commands/v1/transaction_pb.js";
import { type InputData, InputDataSchema } from "../../gen/vega/commands/v1/transaction_pb.js";

/** A chain's identifier and a zero byte in front of input data. No message begins with a byte of these. */
const PREFIX = /^[A-Za-z0-9._-]{1,50}\0/;

/**
 * Read the input data of a transaction, with or without the chain's identifier in front (specification, 2.5). Its
 * signature is not checked.
 *
 * @param transaction the signed transaction
 * @returns the input data; `undefined` where it cannot be read
 */
export function readInputData({ inputData }: Pick<Transaction, "inputData">): InputData | undefined {
  const [prefix = ""] = PREFIX.exec(Buffer.from(inputData.subarray(0, 51)).toString("latin1")) ?? [];
  try {
    return fromBinary(InputDataSchema, inputData.subarray(prefix.length));
  } catch {
    return undefined;
  }
}
