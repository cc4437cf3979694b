import { fromBinary, isMessage } from "@bufbuild/protobuf";
import {
  CoreService,
  SubmitRawTransactionRequestSchema,
  SubmitTransactionRequestSchema,
} from "../../gen/client/vega/api/v1/core_pb.js";
import { type Transaction, TransactionSchema } from "../../gen/client/vega/commands/v1/transaction_pb.js";
import { CommandError, type RequestError } from "../errors/index.js";

/** The methods that submit a transaction, by their full names. */
export const SUBMITTING_METHODS: readonly string[] = [
  `${CoreService.typeName}/${CoreService.method.submitTransaction.name}`,
  `${CoreService.typeName}/${CoreService.method.submitRawTransaction.name}`,
];

/**
 * Finds out whether a transaction stops the network for good, however it was signed.
 *
 * @param request the request to submit it
 * @returns the error; `undefined` for all others, and if its input data cannot be read
 */
export async function haltingTransaction(request: unknown): Promise<RequestError | undefined> {
  const transaction = submitted(request);
  if (transaction === undefined) {
    return undefined;
  }
  const { readInputData } = await import("./submitted-input-data.js");
  const { haltingProblem } = await import("./check/halting.js");
  const inputData = readInputData(transaction);
  const problem = inputData && haltingProblem(inputData.command);
  return problem && new CommandError([problem]);
}

function submitted(request: unknown): Transaction | undefined {
  if (isMessage(request, SubmitTransactionRequestSchema)) {
    return request.tx;
  }
  if (!isMessage(request, SubmitRawTransactionRequestSchema)) {
    return undefined;
  }
  try {
    return fromBinary(TransactionSchema, request.tx);
  } catch {
    return undefined;
  }
}
