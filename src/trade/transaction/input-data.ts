import { create, toBinary } from "@bufbuild/protobuf";
import { type InputData, InputDataSchema } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { CommandError, RequestError } from "../../base/errors/index.js";
import { assertObject, invalidValueError } from "../../base/input/assert.js";
import { tryDecode } from "../../base/input/decode.js";
import type { InitOf } from "../../base/input/init.js";
import { parseMessageInit } from "../../base/input/message-init.js";
import { randomBytes } from "../../base/runtime/index.js";
import { commandProblems } from "./check/index.js";

/** A command by its name and fields, such as `{ case: "stopOrdersSubmission", value: { risesAbove: {...} } }`. */
export type CommandInit = Extract<NonNullable<InitOf<typeof InputDataSchema>["command"]>, { readonly case: string }>;

/**
 * A serialized `InputData`, for a command that this library has no type for. A missing nonce or block height is added.
 */
export interface RawInputData {
  /** The Protobuf message's binary form, without the prefix of the chain's identifier. */
  readonly inputData: Uint8Array;
  // Declared here as well: the compiler then compares a misspelt case with the names of all commands.
  readonly case?: undefined;
}

/** The command of a transaction, in one of two forms. */
export type CommandSource = CommandInit | RawInputData;

/** The values that make input data unique, and tie it to a block. */
export interface InputDataOptions {
  /** Height of the block whose hash seeds the proof of work. */
  readonly blockHeight: bigint;
  /** Makes equal commands differ, 1 to 2^64 - 1; random by default. */
  readonly nonce?: bigint | undefined;
}

/**
 * Checks a command and serializes it as input data, without the prefix of the chain's identifier.
 *
 * @throws {@link CommandError} if a field of the command is wrong
 * @throws {@link RequestError} if raw input data cannot be read, contains no command or contradicts the options, or
 *   height or nonce is not a whole number from 1 to 2^64 - 1
 */
export function encodeInputData(source: CommandSource, { blockHeight, nonce }: InputDataOptions): Uint8Array {
  const given = readCommand(source);
  if (given.blockHeight !== 0n && given.blockHeight !== blockHeight) {
    throw new RequestError(
      `inputData.blockHeight is ${given.blockHeight}, but the proof of work is for block ${blockHeight}`,
      {
        advice: "Omit the height from the raw input data: it is set when the transaction is signed.",
      },
    );
  }
  if (given.nonce !== 0n && nonce !== undefined && given.nonce !== nonce) {
    throw new RequestError(`inputData.nonce is ${given.nonce}, but the option nonce is ${nonce}`, {
      advice: "Set the nonce in one place only.",
    });
  }
  requireNatural("blockHeight", blockHeight);
  if (nonce !== undefined) {
    requireNatural("nonce", nonce);
  }
  if ("inputData" in source && given.nonce !== 0n && given.blockHeight !== 0n) {
    return source.inputData; // It is complete, so it is signed as it came: serializing it again might change its bytes.
  }
  const complete = { ...given, blockHeight, nonce: given.nonce === 0n ? (nonce ?? randomNonce()) : given.nonce };
  return toBinary(InputDataSchema, complete);
}

/**
 * Checks a command and converts it to input data.
 *
 * @throws {@link CommandError} if a field is wrong
 * @throws {@link RequestError} if a field does not exist or has an invalid value, or raw input data cannot be read or
 *   contains no command
 */
export function readCommand(source: CommandSource): InputData {
  assertObject("command", source);
  if (source.case !== undefined && source.value === undefined) {
    throw invalidValueError(source.case, undefined, "an object with the command's fields; use {} for none");
  }
  const inputData =
    "inputData" in source
      ? decode(source.inputData)
      : create(InputDataSchema, parseMessageInit(InputDataSchema, { command: source }));
  if (inputData.command.case !== undefined) {
    const problems = commandProblems(inputData.command);
    if (problems.length > 0) {
      throw new CommandError(problems);
    }
  } else if (!hasUnknownCommand(inputData)) {
    throw new RequestError("the input data contains no command", { advice: "Add one command." });
  }
  return inputData;
}

/** Returns whether input data contains a command that this library has no type for. */
export function hasUnknownCommand({ $unknown = [] }: InputData): boolean {
  return $unknown.some(({ no }) => no > 1000);
}

function decode(bytes: Uint8Array): InputData {
  const inputData = tryDecode(InputDataSchema, bytes);
  if (inputData === undefined) {
    throw new RequestError("inputData is not a serialized InputData", {
      advice: "Use the binary form of the Protobuf message, without the chain ID in front.",
    });
  }
  return inputData;
}

/** A random nonce that is not 0. */
function randomNonce(): bigint {
  for (;;) {
    const nonce = randomBytes(8).readBigUInt64LE(0);
    if (nonce !== 0n) {
      return nonce;
    }
  }
}

function requireNatural(name: string, value: bigint): void {
  if (typeof value !== "bigint" || value < 1n || value >= 2n ** 64n) {
    throw invalidValueError(name, value, "a bigint from 1 to 2^64 - 1");
  }
}
