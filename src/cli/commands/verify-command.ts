import type { LastBlockHeightResponse } from "../../../gen/client/vega/api/v1/core_pb.js";
import type { Transaction } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { ProtocolError, RequestError } from "../../base/errors/index.js";
import { profileRules } from "../../base/profile.js";
import { type Client, createClient } from "../../index.js";
import type { BlockTask, Problem } from "../../trade/transaction/index.js";
import { requireChain } from "../../trade/transaction/signing-chain.js";
import { inputDataProblems, openTransactionSync, proofProblem } from "../../trade/transaction/verify-transaction.js";
import { clientConfig, clientOptions } from "../client-options.js";
import { defineCommand, type OptionValues } from "../declarations.js";
import { type CommandContext, EXIT, Reported } from "../output.js";
import { outputFormat, outputOptions, printReport } from "../output-format.js";
import { chainIdOption, chainIdPrefixOption } from "../shared-options.js";
import { readTransactionInput } from "../transaction-input.js";

const verifyOptions = {
  chainIdPrefix: chainIdPrefixOption,
  ...outputOptions,
  chainId: chainIdOption,
  ...clientOptions,
};

type VerifyOptions = OptionValues<typeof verifyOptions>;

/** Defines the command `verify`, which checks a signed request as a node does, against the node's recent blocks. */
export const addVerify = defineCommand(verifyOptions, runVerify);

async function runVerify(file: string, options: VerifyOptions, context: CommandContext): Promise<void> {
  const { out, output } = context;
  output.role = "answer";
  const { request } = await readTransactionInput(file, context);
  if (request?.tx === undefined) {
    throw new RequestError("the file contains no signed transaction", {
      advice: "Use the output of `tradewire sign`.",
    });
  }
  const { chainId, problems, unchecked } = await examine(request.tx, options, context);
  if (problems.length > 0) {
    const reasons = problems.map(({ path, message }) => `${path} ${message}`).join("; ");
    throw new ProtocolError(`the transaction is invalid: ${reasons}`, {
      advice:
        "A node would reject it now. If it was submitted before, find its outcome before you sign the command again.",
    });
  }
  const { pow, from } = request.tx;
  const publicKey = from.value ?? "";
  if (unchecked !== undefined) {
    const report = {
      table() {
        out.write(
          `Signature for chain ${chainId}, prefix and command of ${publicKey} are valid.\nThe proof of work could not be checked: ${unchecked}.\n`,
        );
      },
      object: () => ({
        valid: null,
        chainId,
        publicKey,
        tid: pow?.tid,
        unchecked: { path: "tx.pow", reason: unchecked },
      }),
    };
    await printReport(report, outputFormat(options, context), context);
    throw new Reported(EXIT.unknown);
  }
  const report = {
    table() {
      out.write(`Valid: signature for chain ${chainId}, prefix, command and proof of work of ${publicKey}.\n`);
    },
    object: () => ({ valid: true, chainId, publicKey, tid: pow?.tid }),
  };
  await printReport(report, outputFormat(options, context), context);
}

interface Examined {
  readonly chainId: string;
  readonly problems: readonly Problem[];
  /** Why the proof of work could not be checked. */
  readonly unchecked?: string;
}

async function examine(tx: Transaction, options: VerifyOptions, context: CommandContext): Promise<Examined> {
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
  const { blockHeight } = inputData;
  // v0.78.0 refuses a transaction once `spam.pow.numberOfPastBlocks` blocks have passed (`core/pow/engine.go`).
  if (blockHeight > block.height || blockHeight + BigInt(block.spamPowNumberOfPastBlocks) <= block.height) {
    const message = `is ${blockHeight}, not one of the node's recent blocks up to ${block.height}`;
    return { chainId, problems: [...wrong, { path: "tx.inputData.blockHeight", message }] };
  }
  const task = await powTask(client, publicKey, blockHeight, block, signal);
  if (task === undefined) {
    // A key's statistics list the last block, and the blocks that have a transaction of the key.
    const unchecked = `the node reports only the hash of its last block ${block.height}, not that of block ${blockHeight}`;
    return { chainId, problems: wrong, unchecked };
  }
  const proof = proofProblem(tx, task);
  return { chainId, problems: proof === undefined ? wrong : [...wrong, proof] };
}

/** Returns the requirements of the proof of work, if the node reports the block's hash. */
async function powTask(
  client: Client,
  publicKey: string,
  height: bigint,
  last: LastBlockHeightResponse,
  signal: AbortSignal,
): Promise<Omit<BlockTask, "chainId"> | undefined> {
  const difficulty = last.spamPowDifficulty;
  if (height === last.height) {
    return { height, hash: last.hash, difficulty, hashFunction: last.spamPowHashFunction };
  }
  const statistics = await client.spamStatistics(publicKey, { signal });
  const state = statistics?.pow?.blockStates.find(({ blockHeight }) => blockHeight === height);
  return state && { height, hash: state.blockHash, difficulty, hashFunction: state.hashFunction };
}
