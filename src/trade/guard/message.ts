import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type InputData, InputDataSchema } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { CommandError, PolicyError } from "../../base/errors/index.js";
import { commandProblems } from "../transaction/check/index.js";
import { chainIdPrefixOf } from "../transaction/signature.js";

/**
 * Reads a message to sign. Only bytes are accepted that the library itself would serialize for the same command, so
 * that nothing can be hidden in unknown or repeated fields.
 *
 * @throws {@link PolicyError} if it cannot be read, or is for another chain
 * @throws {@link CommandError} if the command is wrong
 */
export function readMessage(message: Uint8Array, chainId: string): InputData {
  const prefix = chainIdPrefixOf(chainId);
  if (!Buffer.from(prefix).equals(message.subarray(0, prefix.length))) {
    const what = `the message does not begin with the chain ID ${chainId}`;
    throw refused("chainId", chainId, what);
  }
  const bytes = message.subarray(prefix.length);
  const inputData = decode(bytes);
  const written = inputData && toBinary(InputDataSchema, inputData, { writeUnknownFields: false });
  if (inputData === undefined || written === undefined || !Buffer.from(written).equals(bytes)) {
    throw refused("message", "", "the message is not input data, or has fields that this version does not know");
  }
  const { command, nonce, blockHeight } = inputData;
  if (command.case === undefined || nonce === 0n || blockHeight === 0n) {
    throw refused("message", "", "the message has no command, no nonce or no block height");
  }
  const problems = commandProblems(command);
  if (problems.length > 0) {
    throw new CommandError(problems);
  }
  return inputData;
}

function decode(bytes: Uint8Array): InputData | undefined {
  try {
    return fromBinary(InputDataSchema, bytes);
  } catch {
    return undefined;
  }
}

function refused(rule: string, limit: string, what: string): PolicyError {
  const advice = "Sign only transactions of version TX_VERSION_V3 that this library creates. Nothing was signed.";
  return new PolicyError({ rule, limit, value: "", headline: `the guard refuses to sign: ${what}`, advice });
}
