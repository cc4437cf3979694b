import { create, type DescMessage } from "@bufbuild/protobuf";
import {
  type TransactionResult,
  TransactionResult_Status,
  TransactionResultSchema,
  type TxErrorEvent,
  TxErrorEventSchema,
} from "../../../gen/vega/events/v1/events_pb.js";
import type { CommandResult } from "../engine/command-dispatch.js";
import { commandName } from "./command-names.js";
import type { BlockTransaction } from "./local-chain.js";

/** CommandResult of a command that failed, at least in part. */
export type FailedResult = Exclude<CommandResult, { readonly status: "success" }>;

const STATUS = {
  success: TransactionResult_Status.SUCCESS,
  partial: TransactionResult_Status.PARTIAL_SUCCESS,
  failure: TransactionResult_Status.FAILURE,
} as const;

/**
 * Creates the transaction result event (`core/events/transaction_result.go`). `status` is true only for full success.
 * A batch has an error for each failed instruction.
 */
export function transactionResult(transaction: BlockTransaction, outcome: CommandResult): TransactionResult {
  const { partyId, txHash, command } = transaction;
  const result = create(TransactionResultSchema, {
    partyId,
    hash: txHash.toLowerCase(),
    status: outcome.status === "success",
    statusDetail: STATUS[outcome.status],
    ...(outcome.status !== "success" && { extra: { case: "failure", value: failureOf(outcome) } }),
  });
  const transactionCase = commandCase(TransactionResultSchema, command.value?.$typeName);
  return transactionCase === undefined
    ? result
    : { ...result, transaction: { case: transactionCase, value: command.value } as TransactionResult["transaction"] };
}

/** Creates the error event that follows the result of a failed transaction (`core/events/tx_error.go`). */
export function transactionError(transaction: BlockTransaction, outcome: FailedResult): TxErrorEvent {
  const { partyId, command } = transaction;
  const errMsg = `${commandName(command.case)} - ${errorText(outcome)}`;
  const event = create(TxErrorEventSchema, { partyId, errMsg });
  const transactionCase = commandCase(TxErrorEventSchema, command.value?.$typeName);
  return transactionCase === undefined
    ? event
    : { ...event, transaction: { case: transactionCase, value: command.value } as TxErrorEvent["transaction"] };
}

/** Returns the errors by instruction for a batch, and a single text for other commands. */
function failureOf(outcome: FailedResult) {
  return isBatch(outcome)
    ? { errors: [...byKey(outcome)].map(([key, errors]) => ({ key, errors })) }
    : { error: errorText(outcome) };
}

/** Formats the errors of a command as the network does. */
export function errorText(outcome: FailedResult): string {
  return isBatch(outcome)
    ? [...byKey(outcome)]
        .map(([key, errors]) => `${key} (${errors.join(", ")})`)
        .toSorted()
        .join(", ")
    : outcome.errors.map(({ error }) => error).join(", ");
}

const isBatch = ({ errors }: FailedResult) => errors.some(({ key }) => key !== "");

/** Groups the errors by key. Keys are sorted as text, so `10` precedes `2`. */
function byKey({ errors }: FailedResult): Map<string, string[]> {
  const keys = [...new Set(errors.map(({ key }) => key))].toSorted();
  return new Map(keys.map((key) => [key, errors.filter((each) => each.key === key).map(({ error }) => error)]));
}

/**
 * Returns the member of an event's `transaction` for a command. Some differ from the names in input data, and some
 * commands have none.
 */
function commandCase({ oneofs }: DescMessage, typeName: string | undefined): string | undefined {
  return oneofs.find(({ name }) => name === "transaction")?.fields.find(({ message }) => message?.typeName === typeName)
    ?.localName;
}
