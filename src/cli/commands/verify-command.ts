import type { Command } from "commander";
import type { Transaction } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { ProtocolError, RequestError } from "../../errors/index.js";
import { createClient } from "../../index.js";
import { profileRules } from "../../schema/profile.js";
import type { Problem } from "../../transaction/index.js";
import { requireChain } from "../../transaction/signing-chain.js";
import { inputDataProblems, openTransactionSync, proofProblem } from "../../transaction/verify-transaction.js";
import { chainIdOption, chainIdPrefixOption, clientConfig, clientOptions } from "../client-options.js";
import { addOptions, flag, type OptionValues } from "../declarations.js";
import { type CommandContext, json } from "../output.js";
import { readTransactionInput } from "../transaction-input.js";

const verifyOptions = {
  chainIdPrefix: chainIdPrefixOption("whether the chain ID is submitted before the input data, or only signed"),
  json: flag("print the result as a JSON object"),
  chainId: chainIdOption,
  ...clientOptions,
};

type VerifyOptions = OptionValues<typeof verifyOptions>;

/**
 * Defines the command `verify`, which checks a signed request as a node does, against the node's recent blocks.
 *
 * @param command the command `verify`, which gets its options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addVerify(command: Command, context: CommandContext): void {
  addOptions(command, verifyOptions).action((file: string, options: VerifyOptions) =>
    runVerify(file, options, context),
  );
}

async function runVerify(file: string, options: VerifyOptions, context: CommandContext): Promise<void> {
  const { out } = context;
  const { request } = await readTransactionInput(file, context);
  if (request?.tx === undefined) {
    throw new RequestError("the file contains no signed transaction", {
      advice: "Give the output of `tradewire sign`.",
    });
  }
  const { chainId, problems } = await examine(request.tx, options, context);
  if (problems.length > 0) {
    const reasons = problems.map(({ path, message }) => `${path} ${message}`).join("; ");
    throw new ProtocolError(`the transaction is not valid: ${reasons}`, {
      advice:
        "A node would reject it now. If it was submitted before, look for its effects before you sign the command again.",
    });
  }
  const { pow, from } = request.tx;
  const publicKey = from.value ?? "";
  out.write(
    options.json === true
      ? json({ valid: true, chainId, publicKey, tid: pow?.tid })
      : `Valid: signature for chain ${chainId}, prefix, command and proof of work of ${publicKey}.\n`,
  );
}

async function examine(
  tx: Transaction,
  options: VerifyOptions,
  context: CommandContext,
): Promise<{ readonly chainId: string; readonly problems: readonly Problem[] }> {
  const { signal } = context;
  const config = clientConfig(options, context);
  await using client = createClient(config);
  const block = await client.lastBlockHeight({ signal });
  const { chainId } = block;
  requireChain(chainId, config.chainId);
  const { chainIdPrefix = profileRules[config.profile ?? "specification"].chainIdPrefix } = options;
  const { inputData, publicKey, problems } = openTransactionSync(tx, { chainId, chainIdPrefix });
  if (inputData === undefined) {
    return { chainId, problems };
  }
  const wrong = inputDataProblems(inputData);
  const statistics = await client.spamStatistics(publicKey, { signal });
  const state = statistics?.pow?.blockStates.find(({ blockHeight }) => blockHeight === inputData.blockHeight);
  if (state === undefined) {
    const message = `is ${inputData.blockHeight}, not one of the node's recent blocks up to ${block.height}`;
    return { chainId, problems: [...wrong, { path: "tx.inputData.blockHeight", message }] };
  }
  const { blockHeight: height, blockHash: hash, hashFunction } = state;
  const proof = proofProblem(tx, { height, hash, difficulty: block.spamPowDifficulty, hashFunction });
  return { chainId, problems: proof === undefined ? wrong : [...wrong, proof] };
}
