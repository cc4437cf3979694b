import { createInterface } from "node:readline/promises";
import { create } from "@bufbuild/protobuf";
import type { Command } from "commander";
import {
  type SubmitTransactionRequest,
  SubmitTransactionRequestSchema,
} from "../../../gen/client/vega/api/v1/core_pb.js";
import { TransactionSchema } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { inconclusiveSubmission, responseError } from "../../base/errors/call-errors.js";
import {
  CanceledError,
  CommandError,
  ConnectionError,
  RequestError,
  TransactionError,
} from "../../base/errors/index.js";
import { isRefusalCode } from "../../base/errors/transaction-errors.js";
import { monotonicMs } from "../../base/runtime/index.js";
import {
  type Client,
  type Config,
  type ExecutedCommand,
  type OutcomeWait,
  openFileJournal,
  type SubmissionType,
} from "../../index.js";
import { remainingMs, withTimeout } from "../../trade/transaction/deadline.js";
import { type Signer, transactionHash } from "../../trade/transaction/index.js";
import { readCommand } from "../../trade/transaction/input-data.js";
import { requireSignature } from "../../trade/transaction/signature.js";
import { namedChain } from "../../trade/transaction/signing-chain.js";
import { submissionTypes } from "../../trade/transaction/submission.js";
import { readInputData } from "../../trade/transaction/submitted-input-data.js";
import { firstUrl } from "../../wire/config/config-schema.js";
import { staysOnLoopback } from "../../wire/config/loopback.js";
import { commandClient } from "../client.js";
import { clientConfig, clientOptions } from "../client-options.js";
import { STANDARD } from "../command-files.js";
import { describeCommand, integerCommand, withAdviceOnDecimals } from "../decimal-command.js";
import {
  addOptions,
  choice,
  defineCommand,
  flag,
  flagOf,
  type OptionValues,
  text,
  withDefault,
} from "../declarations.js";
import { span } from "../formatting.js";
import { type CommandContext, EXIT, json, printable, Reported } from "../output.js";
import { outputFormat, outputOptions, printReport } from "../output-format.js";
import { chainIdOption, chainIdPrefixOption, dryRunOption, waitOption } from "../shared-options.js";
import {
  commandOf,
  commandSigner,
  type InputFile,
  keyFileOption,
  readInputFile,
  requestJson,
  signerOption,
  type TransactionInput,
} from "../transaction-input.js";
import { partLines, printOutcome } from "./outcome-command.js";

/** The options that decide how a command is signed. */
const signingOptions = {
  keyFile: keyFileOption,
  signer: signerOption,
  reply: withDefault(
    choice<SubmissionType>(
      "<when>",
      "when the node replies: sync (after its check), async (immediately) or commit (after the block)",
      ["sync", "async", "commit"],
    ),
    "sync",
  ),
  txVersion: withDefault(choice("<version>", "transaction version", ["V3", "V2"]), "V3"),
  chainIdPrefix: chainIdPrefixOption,
  chainId: chainIdOption,
};

const signOptions = { ...signingOptions, ...clientOptions };

const submitOptions = {
  dryRun: dryRunOption,
  check: flag("ask the node to check the transaction without submitting it; this uses up a signed transaction"),
  yes: flag("with --check: use up a signed transaction without asking"),
  wait: {
    ...waitOption("(default: as long as the network can accept the transaction)"),
    conflicts: ["dryRun", "check"],
  },
  journal: text(
    "<file>",
    "write the command to this journal before sending it, and retry until its outcome is final; needs --intent",
    { conflicts: ["dryRun", "check", "wait", "reply"] },
  ),
  intent: text("<id>", "ID of the command in the journal: a command with the same ID is never executed twice"),
  ...outputOptions,
  ...signOptions,
};

type SignOptions = OptionValues<typeof signOptions>;
type SubmitOptions = OptionValues<typeof submitOptions>;

interface SignTask {
  readonly client: Client;
  /** The configuration of the client. */
  readonly config: Config;
  readonly input: TransactionInput;
  readonly options: SignOptions;
  readonly context: CommandContext;
}

interface SubmitTask extends SignTask {
  readonly options: SubmitOptions;
}

/** Defines the command `submit`. */
export function addSubmit(command: Command, context: CommandContext): void {
  addOptions(command, submitOptions).action((file: string, options: SubmitOptions) =>
    runSubmit(file, options, context, usedSigningOptions(command)),
  );
}

/** Defines the command `sign`, which prints the request's body without sending it. */
export const addSign = defineCommand(
  signOptions,
  async (file: string, options: SignOptions, context: CommandContext) => {
    const found = await readInputFile(file, context);
    if ("request" in found && found.request !== undefined) {
      throw new RequestError("the file is already signed", { advice: "Use an unsigned command, or submit the file." });
    }
    const config = clientConfig(options, context, { forSigning: true });
    await using client = commandClient(options, context, { config });
    const input = await inIntegers(found, client, context);
    context.out.write(json(requestJson(await signWithNote({ client, config, input, options, context }))));
  },
);

/** Returns an input in the network's integers. An invalid command is refused, even without a key. */
async function inIntegers(found: InputFile, client: Client, context: CommandContext): Promise<TransactionInput> {
  const isInDecimals = "decimals" in found;
  const input = isInDecimals ? commandOf(await integerCommand(found.decimals, client, context), found.source) : found;
  try {
    if (input.command !== undefined) {
      readCommand(input.command);
    }
  } catch (reason) {
    throw reason instanceof CommandError && !isInDecimals ? withAdviceOnDecimals(reason) : reason;
  }
  return input;
}

/** Returns the flags of the signing options that are on the command line. */
function usedSigningOptions(command: Command): string[] {
  return Object.keys(signingOptions)
    .filter((name) => command.getOptionValueSource(name) === "cli")
    .map(flagOf);
}

async function runSubmit(
  file: string,
  options: SubmitOptions,
  context: CommandContext,
  signingFlags: readonly string[],
): Promise<void> {
  const { out, output, notes } = context;
  output.role = options.dryRun === true ? "rows" : "answer";
  const found = await readInputFile(file, context);
  const isSigned = "request" in found && found.request !== undefined;
  if (isSigned && signingFlags.length > 0) {
    throw new RequestError(`the file is already signed, so ${signingFlags.join(", ")} cannot apply`, {
      advice: "Remove these options to submit the file as it is, or sign the command again.",
    });
  }
  if (options.check === true && isSigned && options.yes !== true) {
    await confirmCheck(file, context);
  }
  const config = clientConfig(options, context, { forSigning: !isSigned });
  await using client = commandClient(options, context, { config });
  const input = await inIntegers(found, client, context);
  const task = { client, config, input, options, context };
  if (options.journal !== undefined || options.intent !== undefined) {
    await submitIntent(task);
    return;
  }
  if (options.dryRun === true) {
    out.write(json(requestJson(await signWithNote(task))));
    return;
  }
  if (options.check === true) {
    const request = await signWithNote(task);
    const isFirst = input.command !== undefined;
    if (isFirst) {
      notes.write("Signing a transaction only for this check; it is not submitted.\n");
    }
    await check(client, request, isFirst, options, context);
    return;
  }
  await (options.wait === undefined ? submit(task) : submitAndWait(task));
}

/** Submits a transaction, and prints its hash. */
async function submit(task: SubmitTask): Promise<void> {
  const { client, options, context } = task;
  const { signal, out, err, notes } = context;
  const { request, tid } = await signForSubmission(task, signal);
  const result = await client.submitTransaction(request, { signal }).catch((reason: unknown) => {
    throw noteUnsent(reason, isUnsent(reason), context);
  });
  err.write(hashDifference(result));
  const report = {
    table() {
      out.write(`${printable(result.txHash)}\n`);
      // With any other type, a node may respond before it has checked the transaction.
      const isChecked = [submissionTypes.sync, submissionTypes.commit].includes(request.type);
      notes.write(isChecked ? "Accepted into the mempool.\n" : "Sent, but not yet checked by the node.\n");
    },
    object: () => ({ ...result, tid }),
  };
  await printReport(report, outputFormat(options, context), context);
}

/** Submits a command as an intent, and prints how it ended. */
async function submitIntent({ client, input, options, context }: SubmitTask): Promise<void> {
  const { journal: path, intent: id, chainIdPrefix, txVersion } = options;
  if (path === undefined || id === undefined) {
    throw new RequestError("--journal and --intent must be used together", {
      advice: "Set --journal to the journal file, and --intent to the ID of the command in it.",
    });
  }
  if (input.command === undefined) {
    throw new RequestError("the file is already signed", {
      advice: "Use an unsigned command: with --journal it is signed when it is sent.",
    });
  }
  const { signal, out } = context;
  await using signer = await commandSigner(options, context);
  await using journal = await openFileJournal(path);
  await using intents = client.intents({ signer, journal, chainIdPrefix, version: `TX_VERSION_${txVersion}` });
  context.notes.write(await describe(input, client, context));
  const settled = await intents.submit(input.command, { id, signal });
  const { status, txHash, block, evidence, reason, advice, parts } = settled;
  const where = block === undefined ? "" : ` in block ${block}`;
  const why = reason === undefined ? "" : `: ${printable(reason)}`;
  const report = {
    table() {
      out.write(`${status}${where} (${evidence})${why}\n${txHash}\n${partLines(parts)}`);
      context.notes.write(advice === undefined ? "" : `${advice}\n`);
    },
    object: () => settled,
  };
  await printReport(report, outputFormat(options, context), context);
  if (status !== "executed") {
    throw new Reported(EXIT.failure);
  }
}

/** Submits a transaction, and prints its outcome. The timeout includes signing. */
async function submitAndWait(task: SubmitTask): Promise<void> {
  const { client, options, context } = task;
  const { signal, err, notes } = context;
  const startedAt = monotonicMs();
  const limitMs = typeof options.wait === "number" ? options.wait : undefined;
  const announce = (until: AbortSignal) => signForSubmission(task, until);
  const { request, tid } = await (limitMs === undefined ? announce(signal) : withTimeout(limitMs, signal, announce));
  const timeoutMs = limitMs && remainingMs(limitMs, startedAt);
  let isSending = false;
  const onWait = (wait: OutcomeWait) => {
    isSending = true;
    notes.write(waitText(wait));
  };
  const waiting = { until: "executed", timeoutMs, signal, onWait } as const;
  const sent = await client.submitTransaction(request, waiting).catch((reason: unknown) => {
    throw noteUnsent(reason, !isSending || isUnsent(reason), context);
  });
  err.write(hashDifference(sent));
  await printOutcome(sent.outcome, context, { format: outputFormat(options, context), more: { tid } });
}

/** Signs a transaction, unless it is already signed, and notes which one is submitted, and to which node. */
async function signForSubmission(
  { client, config, input, options, context }: SubmitTask,
  signal: AbortSignal,
): Promise<{ readonly request: SubmitTransactionRequest; readonly tid: string }> {
  const before = async () => {
    const described = await describe(input, client, { ...context, signal });
    const request = await signedRequest(client, input, options, { environment: context.environment, signal });
    return { request, described, ...(await client.lastBlockHeight({ signal })) };
  };
  const { request, described, chainId } = await before().catch((reason: unknown) => {
    throw noteUnsent(reason, reason instanceof ConnectionError || reason instanceof CanceledError, context);
  });
  const tx = create(TransactionSchema, request.tx);
  if (options.wait !== undefined) {
    await requireSignature(tx, async () => config.chainId ?? chainId);
  }
  const txHash = transactionHash(tx);
  const signedBy = printable(tx.from.value ?? "nobody");
  context.notes.write(
    `Submitting ${txHash} to ${nodeOf(config)}, chain ${printable(chainId)}, signed by ${signedBy}.\n`,
  );
  context.notes.write(described);
  return { request, tid: request.tx?.pow?.tid ?? "" };
}

/** Describes what is sent; a signed transaction by its content. */
async function describe({ command, request }: TransactionInput, client: Client, context: CommandContext) {
  const inputData =
    command === undefined ? readInputData(create(TransactionSchema, request?.tx)) : readCommand(command);
  return inputData === undefined ? "" : await describeCommand(inputData, client, context);
}

function isUnsent(reason: unknown): boolean {
  return (
    reason instanceof RequestError ||
    (reason instanceof ConnectionError && !reason.connected) ||
    (reason instanceof CanceledError && !reason.mayHaveBeenSent)
  );
}

/** Notes that nothing was sent, and returns the error. */
function noteUnsent(reason: unknown, isUnsent: boolean, { notes }: CommandContext): unknown {
  if (isUnsent) {
    notes.write("Nothing was sent.\n");
  }
  return reason;
}

async function confirmCheck(file: string, { in: input, err, notes, signal }: CommandContext): Promise<void> {
  const what = "a check uses up this signed transaction: the node rejects it until the next block";
  const isTerminal = "isTTY" in input && input.isTTY === true;
  if (!isTerminal || file === STANDARD) {
    throw new RequestError(what, {
      advice: "Use --yes to check it anyway, or check the unsigned command, which signs another transaction.",
    });
  }
  const prompt = createInterface({ input, output: err });
  try {
    notes.write(`${what[0]?.toUpperCase()}${what.slice(1)}.\n`);
    const answer = await prompt.question("Check it anyway? [y/N] ", { signal });
    if (!/^y(es)?$/i.test(answer.trim())) {
      throw new RequestError("check canceled", { advice: "Answer y, or use --yes." });
    }
  } finally {
    prompt.close();
  }
}

async function check(
  client: Client,
  request: SubmitTransactionRequest,
  isFirst: boolean,
  options: SubmitOptions,
  context: CommandContext,
): Promise<void> {
  const { out, signal } = context;
  const { success, code, data, log } = await client.checkTransaction(request.tx ?? {}, { signal });
  if (!success && !isRefusalCode(code)) {
    throw responseError(inconclusiveSubmission({ code, data, log }));
  }
  if (!success) {
    const txHash = transactionHash(create(TransactionSchema, request.tx));
    throw new TransactionError({ success, txHash, code, data, log, height: 0n }, { isFirst });
  }
  const { tid = "" } = request.tx?.pow ?? {};
  const report = {
    table() {
      out.write("The node would accept it.\n");
    },
    object: () => ({ success, code, data, log, tid }),
  };
  await printReport(report, outputFormat(options, context), context);
}

/** Returns the URL that a command calls first. */
const nodeOf = (config: Config) => printable(firstUrl(config) ?? "the configured node");

/** The minimum length of a wait that is noted, in milliseconds. */
const LONG_WAIT_MS = 30_000;

function waitText({ limitMs, lastBlock }: OutcomeWait): string {
  const until = lastBlock === undefined ? "" : `, at most until block ${lastBlock}`;
  return limitMs > LONG_WAIT_MS ? `Waiting up to ${span(limitMs / 1000)} for its outcome${until}.\n` : "";
}

/** Returns a warning if the node and this client computed different hashes of the transaction. */
function hashDifference({ txHash, computedTxHash }: Pick<ExecutedCommand, "txHash" | "computedTxHash">): string {
  return txHash.toUpperCase() === computedTxHash
    ? ""
    : `The node reports another hash: ${printable(txHash)}, not ${computedTxHash}.\n`;
}

/** Returns the request of an input. Before a command is signed, the key, the chain and the node are noted. */
function signWithNote({ client, config, input, options, context }: SignTask): Promise<SubmitTransactionRequest> {
  const { notes, signal } = context;
  return signedRequest(client, input, options, context, async ({ publicKey }) => {
    const named = namedChain(undefined, { chainId: config.chainId, isLoopback: staysOnLoopback(config) });
    const chainId = named ?? (await client.lastBlockHeight({ signal })).chainId;
    notes.write(`Signing with key ${publicKey} for chain ${printable(chainId)}, node ${nodeOf(config)}.\n`);
    notes.write(await describe(input, client, context));
  });
}

/** Returns the request of an input, and signs it unless it is already signed. */
async function signedRequest(
  client: Client,
  input: TransactionInput,
  options: SignOptions,
  context: Pick<CommandContext, "environment" | "signal">,
  onSign: (signer: Signer) => Promise<void> = async () => undefined,
): Promise<SubmitTransactionRequest> {
  if (input.command === undefined) {
    return input.request;
  }
  await using signer = await commandSigner(options, context);
  await onSign(signer);
  const { chainIdPrefix, txVersion, reply } = options;
  const tx = await client.signCommand(input.command, {
    signer,
    signal: context.signal,
    chainIdPrefix,
    version: `TX_VERSION_${txVersion}`,
  });
  return create(SubmitTransactionRequestSchema, { tx, type: submissionTypes[reply] });
}
