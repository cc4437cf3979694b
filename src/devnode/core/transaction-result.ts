import { create, type DescMessage } from "@bufbuild/protobuf";
import {
  type TransactionResult,
  TransactionResult_Status,
  TransactionResultSchema,
  type TxErrorEvent,
  TxErrorEventSchema,
} from "../../../gen/vega/events/v1/events_pb.js";
import type { Outcome } from "../engine/engine.js";
import type { BlockTransaction } from "./chain.js";
import { commandName } from "./command-names.js";

/** The outcome of a command that was not executed, or only in part. */
export type Failed = Exclude<Outcome, { readonly status: "success" }>;

const STATUS = {
  success: TransactionResult_Status.SUCCESS,
  partial: TransactionResult_Status.PARTIAL_SUCCESS,
  failure: TransactionResult_Status.FAILURE,
} as const;

/**
 * Creates the event with the result of a transaction (`core/events/transaction_result.go`): `status` is true only where
 * all of the command was executed, and a batch has its errors by part.
 *
 * @param transaction the transaction
 * @param outcome the outcome of its command
 * @returns the event's message; its hash is in lower case
 */
export function transactionResult(transaction: BlockTransaction, outcome: Outcome): TransactionResult {
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

/**
 * Creates the event that follows the result of a failed transaction (`core/events/tx_error.go`).
 *
 * @param transaction the transaction
 * @param outcome the outcome of its command
 * @returns the event's message, with the name of the command and the error, such as
 *   `Amend Order - OrderError: Invalid Order ID`
 */
export function transactionError(transaction: BlockTransaction, outcome: Failed): TxErrorEvent {
  const { partyId, command } = transaction;
  const errMsg = `${commandName(command.case)} - ${errorText(outcome)}`;
  const event = create(TxErrorEventSchema, { partyId, errMsg });
  const transactionCase = commandCase(TxErrorEventSchema, command.value?.$typeName);
  return transactionCase === undefined
    ? event
    : { ...event, transaction: { case: transactionCase, value: command.value } as TxErrorEvent["transaction"] };
}

/** The errors by part where the command has parts; else one text. */
function failureOf(outcome: Failed) {
  return isOfParts(outcome)
    ? { errors: [...byKey(outcome)].map(([key, errors]) => ({ key, errors })) }
    : { error: errorText(outcome) };
}

/**
 * Writes the errors of a command as one text, as the network does.
 *
 * @param outcome the outcome of the command
 * @returns the error; of a batch, the errors by part, such as `0 (unable to find the order in the market)`
 */
export function errorText(outcome: Failed): string {
  return isOfParts(outcome)
    ? [...byKey(outcome)]
        .map(([key, errors]) => `${key} (${errors.join(", ")})`)
        .toSorted()
        .join(", ")
    : outcome.errors.map(({ error }) => error).join(", ");
}

const isOfParts = ({ errors }: Failed) => errors.some(({ key }) => key !== "");

/** The errors by key, in the order of the keys as texts, so that `10` comes before `2`. */
function byKey({ errors }: Failed): Map<string, string[]> {
  const keys = [...new Set(errors.map(({ key }) => key))].toSorted();
  return new Map(keys.map((key) => [key, errors.filter((each) => each.key === key).map(({ error }) => error)]));
}

/** The member of an event's `transaction` for a command; some have other names than in input data, and some none. */
function commandCase({ oneofs }: DescMessage, typeName: string | undefined): string | undefined {
  return oneofs.find(({ name }) => name === "transaction")?.fields.find(({ message }) => message?.typeName === typeName)
    ?.localName;
}
