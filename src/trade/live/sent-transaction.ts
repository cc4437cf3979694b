import { equals, isMessage, type Message } from "@bufbuild/protobuf";
import type { Transaction } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { TransferSchema } from "../../../gen/vega/commands/v1/commands_pb.js";
import { InputDataSchema } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { type TransactionResult, TransactionResultSchema } from "../../../gen/vega/events/v1/events_pb.js";
import { quoted } from "../../base/errors/error-text.js";
import { OutcomeUnknownError } from "../../base/errors/index.js";
import { invalidValueError } from "../../base/input/assert.js";
import { identifiers } from "../transaction/command-identifiers.js";
import { decodeHex } from "../transaction/crypto.js";
import { SIGNATURE_BYTES, transactionHash } from "../transaction/signature.js";
import { readInputData } from "../transaction/submitted-input-data.js";
import { broughtBy, type CommandPart, commandParts } from "./transaction-outcome.js";

/** The known facts about a transaction that was sent. */
export interface Sent {
  /** 64 hex digits in upper case. */
  readonly txHash: string;
  /** Whether only the node reported this hash: a record with it proves nothing unless it is of this exact command. */
  readonly isHashOfNode?: boolean;
  /** The sender, 64 hex digits in lower case. */
  readonly publicKey?: string | undefined;
  /** 64 bytes. */
  readonly signature?: Uint8Array | undefined;
  /** The height of the block that it is tied to. */
  readonly blockHeight?: bigint | undefined;
  /** The kind of its command, such as `orderSubmission`. */
  readonly command?: string | undefined;
  /** The content of its command. */
  readonly message?: Message | undefined;
  readonly parts: readonly CommandPart[];
}

export function sentTransaction(transaction: Transaction): Sent {
  const inputData = readInputData(transaction);
  const signature = decodeHex(transaction.signature?.value ?? "", SIGNATURE_BYTES);
  return {
    txHash: transactionHash(transaction),
    publicKey: transaction.from.case === "pubKey" ? transaction.from.value.toLowerCase() : undefined,
    signature,
    blockHeight: inputData?.blockHeight,
    command: inputData?.command.case,
    message: inputData?.command.value,
    parts: inputData === undefined ? [] : commandParts(inputData.command, signature),
  };
}

/**
 * Collects the facts that a caller knows about a transaction that was sent earlier.
 *
 * @throws {@link RequestError} if it is none of these
 */
export function parseSent(given: string | OutcomeUnknownError | Transaction): Sent {
  if (given instanceof OutcomeUnknownError) {
    if (given.signed !== undefined) {
      return sentTransaction(given.signed);
    }
    const { txHash, publicKey, command, signature: digits } = given.transaction;
    const signature = decodeHex(digits, SIGNATURE_BYTES);
    const brings = broughtBy(command);
    const [id] = brings === undefined || signature === undefined ? [] : identifiers(signature);
    return { txHash, publicKey, signature, command, parts: [{ path: "", id, brings, errorKey: "" }] };
  }
  if (typeof given === "object" && given.$typeName === "vega.commands.v1.Transaction") {
    return sentTransaction(given);
  }
  if (typeof given !== "string" || !/^[0-9a-f]{64}$/i.test(given)) {
    throw invalidValueError("the transaction", given, "its hash of 64 hex digits, or a signed transaction");
  }
  return { txHash: given.toUpperCase(), parts: [] };
}

/** Returns whether a result belongs to the same party and the same command. */
export function isOfSameCommand(sent: Sent, result: TransactionResult): boolean {
  return sent.publicKey !== undefined && sent.message !== undefined && resultMismatch(sent, result) === undefined;
}

/**
 * Compares the party and the command of a result with those that were sent. The network's result contains both as they
 * were sent (v0.78.0, `setTx` in `core/events/transaction_result.go`).
 */
export function resultMismatch(sent: Sent, { partyId, transaction }: TransactionResult): string | undefined {
  const { publicKey, command, message } = sent;
  if (publicKey !== undefined && partyId.toLowerCase() !== publicKey) {
    return `names another party, ${quoted(partyId)}`;
  }
  const schema = command === undefined ? undefined : commandSchemas.get(command);
  const { value } = transaction;
  if (schema === undefined || (value === undefined && !reportedTypes.has(schema.typeName))) {
    return undefined;
  }
  if (value?.$typeName !== schema.typeName) {
    return transaction.case === undefined ? "has no command" : `belongs to another command, ${transaction.case}`;
  }
  return message === undefined || equals(schema, message, value) ? undefined : "belongs to another command";
}

/** Compares the party and market of a record or event with those of the transaction. */
export function ownerMismatch(
  { publicKey }: Pick<Sent, "publicKey">,
  part: Pick<CommandPart, "marketId">,
  { partyId, marketId }: { readonly partyId: string; readonly marketId?: string },
): string | undefined {
  if (publicKey !== undefined && partyId.toLowerCase() !== publicKey) {
    return `names another party, ${quoted(partyId)}`;
  }
  return part.marketId !== undefined && marketId !== undefined && marketId.toLowerCase() !== part.marketId.toLowerCase()
    ? `names another market, ${quoted(marketId)}`
    : undefined;
}

/** Returns the party that the record of a transfer names as its sender. */
export function debitedParty({ message, publicKey }: Pick<Sent, "message" | "publicKey">): string | undefined {
  const from = isMessage(message, TransferSchema) ? message.from : undefined;
  return from === undefined || from === "" ? publicKey : from.toLowerCase();
}

/** The definitions of commands by their kinds. */
const commandSchemas = new Map(
  InputDataSchema.fields.flatMap(({ localName, message }) => (message === undefined ? [] : [[localName, message]])),
);

/** The types of the commands that results have. */
const reportedTypes: ReadonlySet<string> = new Set(
  TransactionResultSchema.fields.flatMap(({ message }) => (message === undefined ? [] : [message.typeName])),
);
