import { create } from "@bufbuild/protobuf";
import {
  type TransactionResult,
  TransactionResult_Status,
  TransactionResultSchema,
} from "../../../gen/vega/events/v1/events_pb.js";
import type { Outcome } from "../engine/engine.js";
import type { BlockTransaction } from "./chain.js";

const STATUS = {
  success: TransactionResult_Status.SUCCESS,
  partial: TransactionResult_Status.PARTIAL_SUCCESS,
  failure: TransactionResult_Status.FAILURE,
} as const;

/**
 * Make the event that tells what became of a transaction.
 *
 * @param transaction the transaction
 * @param outcome what became of its command
 * @returns the event's message
 */
export function transactionResult(transaction: BlockTransaction, outcome: Outcome): TransactionResult {
  const { partyId, txHash, command } = transaction;
  const result = create(TransactionResultSchema, {
    partyId,
    hash: txHash,
    status: outcome.status !== "failure",
    statusDetail: STATUS[outcome.status],
    extra:
      outcome.status === "success"
        ? { case: "success", value: {} }
        : {
            case: "failure",
            value: {
              error: outcome.errors.map(({ error }) => error).join(", "),
              errors: outcome.errors.map(({ key, error }) => ({ key, errors: [error] })),
            },
          },
  });
  return { ...result, ...namedCommand(command) };
}

/** The command under the name that results have for its message: some differ from those of input data. */
function namedCommand(command: BlockTransaction["command"]): Pick<TransactionResult, "transaction"> | undefined {
  const typeName = command.value?.$typeName;
  const field = TransactionResultSchema.oneofs
    .find(({ name }) => name === "transaction")
    ?.fields.find(({ message }) => message?.typeName === typeName);
  return field === undefined
    ? undefined
    : { transaction: { case: field.localName, value: command.value } as TransactionResult["transaction"] };
}
