import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { type SubmitTransactionRequest, SubmitTransactionRequestSchema } from "../../gen/client/vega/api/v1/core_pb.js";
import { InputDataSchema } from "../../gen/vega/commands/v1/transaction_pb.js";
import { closestName, quoted } from "../base/errors/error-text.js";
import { RequestError } from "../base/errors/index.js";
import { quotedPath } from "../base/errors/node-errors.js";
import { connectSigner } from "../index.js";
import { type CommandInit, type Signer, signerFromEnvironment, signerFromKeyFile } from "../trade/transaction/index.js";
import { SEED_VARIABLE } from "../wire/config/config-sources.js";
import { findField } from "../wire/http-rule/request-fields.js";
import { knownTypes } from "../wire/json/any.js";
import { isJsonObject } from "../wire/json/json-values.js";
import { assertStrictMessage, parseStrictJson } from "../wire/json/strict-json.js";
import { readFields } from "./api/request-fields.js";
import { readText, STANDARD } from "./command-files.js";
import { INTEGER_NAMES, isInDecimals } from "./decimal-command.js";
import { text } from "./declarations.js";
import type { CommandContext, Streams } from "./output.js";

/** The content of an input file: a command to sign, or a signed request. */
export type TransactionInput =
  | { readonly command: CommandInit; readonly request?: undefined }
  | { readonly command?: undefined; readonly request: SubmitTransactionRequest };

/** An input file; a command in decimals is converted when a node is connected. */
export type InputFile = TransactionInput | { readonly decimals: JsonObject; readonly source: string };

/**
 * Reads a command or a signed request in Protobuf's JSON.
 *
 * @throws {@link FileError} if the file cannot be read
 * @throws {@link RequestError} if the content is neither a command nor a signed request
 */
export async function readTransactionInput(path: string, context: CommandContext): Promise<TransactionInput> {
  const input = await readInputFile(path, context);
  return "decimals" in input ? commandOf(input.decimals, input.source) : input;
}

/**
 * Reads a file like {@link readTransactionInput}, but leaves a command in decimals as it is.
 *
 * @throws {@link RequestError} as {@link readTransactionInput} does
 */
export async function readInputFile(path: string, context: CommandContext): Promise<InputFile> {
  const source = path === STANDARD ? "standard input" : quotedPath(path);
  const content = await readText(path, source, context);
  const json = parse(content, source);
  if ("tx" in json) {
    return { request: message(SubmitTransactionRequestSchema, json, source) };
  }
  assertCommandNames(json, source);
  return isInDecimals(json) ? { decimals: json, source } : commandOf(json, source);
}

const ONE_COMMAND = 'Write one command in Protobuf JSON, such as {"stopOrdersCancellation": {}}.';

/** Requires that the members of a file are those of `InputData`, with one command at most. */
function assertCommandNames(json: JsonObject, source: string): void {
  const names = Object.keys(json).filter((name) => json[name] !== null);
  const unknown = names.find((name) => findField(InputDataSchema, name) === undefined);
  if (unknown !== undefined) {
    const around = commandWith(names);
    const near = closestName(
      unknown,
      COMMANDS.map(({ jsonName }) => jsonName),
    );
    const advice =
      around !== undefined
        ? `The fields of a command go inside its name: {"${around}": {${JSON.stringify(unknown)}: …}}.`
        : `${near === undefined ? "" : `Did you mean ${near}? `}${ONE_COMMAND}`;
    throw new RequestError(`${source}: unknown command ${quoted(unknown)}`, { advice });
  }
  const commands = names.filter((name) => findField(InputDataSchema, name)?.oneof !== undefined);
  if (commands.length > 1) {
    throw new RequestError(`${source}: a file holds one command, but this one has ${commands.join(" and ")}`, {
      advice: "Write each into a file of its own, or those about orders into one batchMarketInstructions.",
    });
  }
}

const COMMANDS = InputDataSchema.fields.filter(({ oneof }) => oneof !== undefined);

/** Returns the name of the first command that has all of these fields, in decimals or in integers. */
function commandWith(names: readonly string[]): string | undefined {
  const inIntegers = names.map((name) => INTEGER_NAMES.get(name) ?? name);
  const has = ({ message }: DescField) =>
    message !== undefined && inIntegers.every((name) => findField(message, name) !== undefined);
  return COMMANDS.find(has)?.jsonName;
}

/**
 * Converts the JSON of a command.
 *
 * @throws {@link RequestError} if it is no command
 */
export function commandOf(json: JsonObject, source: string): TransactionInput {
  const inputData = message(InputDataSchema, readFields(InputDataSchema, json, source), source);
  const { command } = inputData;
  if (inputData.blockHeight !== 0n || inputData.nonce !== 0n) {
    throw new RequestError(`${source}: blockHeight and nonce are not part of a command`, {
      advice: "Remove them: they are set when the transaction is signed.",
    });
  }
  if (command.case === undefined) {
    throw new RequestError(`${source}: no command found`, { advice: ONE_COMMAND });
  }
  return { command };
}

export function requestJson(request: SubmitTransactionRequest): JsonValue {
  return toJson(SubmitTransactionRequestSchema, request, { alwaysEmitImplicit: true });
}

function parse(content: string, source: string): JsonObject {
  const refused = (what: string) =>
    new RequestError(`${source}: ${what}`, {
      advice: "Use one JSON object: a command, or the output of `tradewire sign`.",
    });
  const value = parseStrictJson(content, source, () => refused("not valid JSON"));
  if (!isJsonObject(value)) {
    throw refused("not a JSON object");
  }
  return value;
}

function message<Desc extends DescMessage>(desc: Desc, json: JsonObject, source: string): MessageShape<Desc> {
  assertStrictMessage(desc, json, knownTypes, source);
  try {
    return fromJson(desc, json);
  } catch (reason) {
    throw new RequestError(`${source}: ${reason instanceof Error ? reason.message : String(reason)}`, {
      advice: "Write names in lowerCamelCase, 64-bit numbers in quotes, enums by name, and bytes in base64.",
    });
  }
}

/**
 * The option for the key file. No option accepts the seed itself, because other users of a machine can read arguments.
 */
export const keyFileOption = text(
  "<file>",
  `file with the signing key (default: the seed in the environment variable ${SEED_VARIABLE})`,
);

/** The option for a signer process, in place of a key. */
export const signerOption = text(
  "<socket>",
  "sign through the signer process that listens on this Unix socket (see `tradewire signer`)",
  { conflicts: ["keyFile"] },
);

interface SignerChoice {
  /** The path of a key file. */
  readonly keyFile?: string;
  /** The path of a signer's socket. */
  readonly signer?: string;
}

/**
 * Returns the signer that the command line or the environment chooses. The variable with the seed is removed from the
 * environment, so that no child process inherits it.
 *
 * @throws {@link RequestError} if there is no key, or the variable does not contain a seed of 64 hex digits
 * @throws {@link FileError} if the key file cannot be read, is readable by others, or contains no seed
 * @throws {@link ConnectionError} if no signer listens on the socket
 */
export async function commandSigner(
  { keyFile, signer: socket }: SignerChoice,
  { environment }: Pick<Streams, "environment">,
): Promise<Signer & AsyncDisposable> {
  if (socket !== undefined) {
    return connectSigner(socket);
  }
  if (keyFile !== undefined) {
    return { ...(await signerFromKeyFile(keyFile)), async [Symbol.asyncDispose]() {} };
  }
  if (environment[SEED_VARIABLE] === undefined) {
    throw new RequestError("no signing key is set", {
      errorCode: "TW_NO_KEY",
      advice: `Use --key-file (\`tradewire keys new FILE\` creates a key file), or set ${SEED_VARIABLE} to a seed of 64 hex digits.`,
    });
  }
  const seed = signerFromEnvironment(SEED_VARIABLE, environment);
  delete environment[SEED_VARIABLE];
  return {
    publicKey: seed.publicKey,
    sign: (message) => seed.sign(message),
    async [Symbol.asyncDispose]() {
      seed[Symbol.dispose]();
    },
  };
}
