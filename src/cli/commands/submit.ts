import { createInterface } from "node:readline/promises";
import { create } from "@bufbuild/protobuf";
import { type Command, Option } from "commander";
import {
  type SubmitTransactionRequest,
  SubmitTransactionRequestSchema,
} from "../../../gen/client/vega/api/v1/core_pb.js";
import { TransactionSchema } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import type { Client } from "../../client/index.js";
import { staysOnLoopback } from "../../config/loopback.js";
import type { Config } from "../../config/schema.js";
import { brokenAnswer, noVerdict } from "../../errors/broken-answer.js";
import { CanceledError, ConnectionError, RequestError, TradewireError, TransactionError } from "../../errors/index.js";
import { isRefusalCode } from "../../errors/refusal.js";
import type { ExecutedCommand, OutcomeWait } from "../../live/execution.js";
import { monotonicMs } from "../../runtime/index.js";
import { namedChain } from "../../transaction/chain-to-sign.js";
import { timeLeft, within } from "../../transaction/deadline.js";
import { readCommand } from "../../transaction/input-data.js";
import { requireSignature } from "../../transaction/require-signature.js";
import type { Signer } from "../../transaction/signer.js";
import { type SubmissionType, submissionTypes } from "../../transaction/submission.js";
import type { ChainIdPrefix } from "../../transaction/transaction.js";
import { transactionHash } from "../../transaction/transaction-hash.js";
import { commandClient } from "../client.js";
import { type ClientOptions, chainIdOption, clientConfig, clientOptions, milliseconds } from "../client-options.js";
import { STANDARD } from "../input.js";
import { readTransactionInput, requestJson, type TransactionInput } from "../json-input.js";
import { type CommandContext, json, printable } from "../output.js";
import { printOutcome } from "../print-outcome.js";
import { commandSigner, keyFileOption } from "../signer.js";
import { span } from "../sync/figures.js";

interface SignOptions extends ClientOptions {
  readonly keyFile?: string;
  readonly type: SubmissionType;
  readonly txVersion: "TX_VERSION_V2" | "TX_VERSION_V3";
  readonly chainIdPrefix?: ChainIdPrefix;
}

interface SubmitOptions extends SignOptions {
  readonly dryRun?: boolean;
  readonly check?: boolean;
  readonly yes?: boolean;
  /** Milliseconds; true for the default. */
  readonly wait?: number | true;
  readonly json?: boolean;
}

/** What `sign` does. */
interface SignTask {
  readonly client: Client;
  /** The configuration of the client. */
  readonly config: Config;
  readonly input: TransactionInput;
  readonly options: SignOptions;
  readonly context: CommandContext;
}

/** What `submit` does. */
interface SubmitTask extends SignTask {
  readonly options: SubmitOptions;
}

/**
 * Add the command `submit` (specification, 4.2).
 *
 * @param command the command `submit`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addSubmit(command: Command, context: CommandContext): void {
  command
    .argument(
      "<file>",
      'the command in Protobuf\'s JSON, such as {"stopOrdersSubmission": {...}}; - for standard input',
    )
    .option("--dry-run", "do all but submit it: print the request's body")
    .option("--check", "ask the node to check it, without submitting it; a signed transaction is used up by that")
    .option("--yes", "with --check: do not ask before a signed transaction is used up")
    .addOption(
      new Option(
        "--wait [duration]",
        "wait for its outcome, for so long in all, by default as long as the network can take it: exit code 0 if executed, 1 if not, 3 if unknown",
      )
        .argParser(readWait)
        .conflicts(["dryRun", "check"]),
    )
    .option("--json", "print the result as a JSON object");
  for (const option of signOptions()) {
    command.addOption(option);
  }
  command.action((file: string, options: SubmitOptions) => runSubmit(file, options, context, givenOptions(command)));
}

/** Read how long to wait. An option whose value may be left out takes the next argument, which may be meant as the file. */
function readWait(text: string): number {
  try {
    return milliseconds("--wait", text);
  } catch (reason) {
    throw reason instanceof RequestError
      ? new RequestError(reason.summary, {
          advice: "Give one such as --wait=30s; or --wait alone, behind the file.",
          cause: reason,
        })
      : reason;
  }
}

/**
 * Add the command `sign`, which prints the request's body without sending it (specification, 4.2).
 *
 * @param command the command `sign`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addSign(command: Command, context: CommandContext): void {
  command.argument("<file>", "the command in Protobuf's JSON; - for standard input");
  for (const option of signOptions()) {
    command.addOption(option);
  }
  command.action(async (file: string, options: SignOptions) => {
    const input = await readTransactionInput(file, context);
    if (input.command === undefined) {
      throw new RequestError("it is signed already", { advice: "Give a command, or submit it." });
    }
    const config = clientConfig(options, context, { forSigning: true });
    await using client = commandClient(options, context, { config });
    context.out.write(json(requestJson(await announcedSignature({ client, config, input, options, context }))));
  });
}

function signOptions(): Option[] {
  return [...signingOptions(), ...clientOptions()];
}

/** The options that decide how a command is signed. */
function signingOptions(): Option[] {
  return [
    keyFileOption(),
    new Option("--type <type>", "how far it has to come before the node answers")
      .choices(Object.keys(submissionTypes))
      .default("sync"),
    new Option("--tx-version <version>", "version of the transaction")
      .choices(["TX_VERSION_V3", "TX_VERSION_V2"])
      .default("TX_VERSION_V3"),
    new Option(
      "--chain-id-prefix <rule>",
      "whether the chain's identifier is submitted before the input data, or only signed",
    ).choices(["signed-and-submitted", "signature-only"]),
    chainIdOption(),
  ];
}

/** The options of signing that the command line holds, by their names on it. */
function givenOptions(command: Command): string[] {
  return signingOptions()
    .filter((option) => command.getOptionValueSource(option.attributeName()) === "cli")
    .map(({ long }) => long ?? "");
}

async function runSubmit(
  file: string,
  options: SubmitOptions,
  context: CommandContext,
  signingGiven: readonly string[],
): Promise<void> {
  const { out, notes } = context;
  const input = await readTransactionInput(file, context);
  if (input.request !== undefined && signingGiven.length > 0) {
    throw new RequestError(`it is signed already, so ${signingGiven.join(", ")} cannot apply`, {
      advice: "Leave that out to submit it as it is, with the type in it; or sign the command again.",
    });
  }
  if (options.check === true && input.request !== undefined && options.yes !== true) {
    await confirmCheck(file, context);
  }
  const config = clientConfig(options, context, { forSigning: input.command !== undefined });
  await using client = commandClient(options, context, { config });
  const task = { client, config, input, options, context };
  if (options.dryRun === true) {
    out.write(json(requestJson(await announcedSignature(task))));
    return;
  }
  if (options.check === true) {
    const request = await announcedSignature(task);
    const isFirst = input.command !== undefined;
    if (isFirst) {
      notes.write("Checking a transaction that is signed for this check only; it is not submitted.\n");
    }
    await check(client, request, isFirst, options, context);
    return;
  }
  await (options.wait === undefined ? submit(task) : submitAndWait(task));
}

/** Submits a transaction, and prints its hash. */
async function submit(task: SubmitTask): Promise<void> {
  const { client, options, context } = task;
  const { signal, out, notes } = context;
  const { request, tid } = await announced(task, signal);
  const result = await client.submitTransaction(request, { signal }).catch((reason: unknown) => {
    throw noted(reason, isUnsent(reason), context);
  });
  notes.write(hashDifference(result));
  out.write(options.json === true ? json({ ...result, tid }) : `${printable(result.txHash)}\n`);
  if (options.json !== true) {
    // A node may answer any other type before it has checked the transaction.
    const isChecked = [submissionTypes.sync, submissionTypes.commit].includes(request.type);
    notes.write(isChecked ? "It is in the mempool.\n" : "Sent; it was not checked yet.\n");
  }
}

/** Submits a transaction, and prints its outcome. The time for all of it begins with its signature. */
async function submitAndWait(task: SubmitTask): Promise<void> {
  const { client, options, context } = task;
  const { signal, notes } = context;
  const startedAt = monotonicMs();
  const limitMs = typeof options.wait === "number" ? options.wait : undefined;
  const announce = (until: AbortSignal) => announced(task, until);
  const { request, tid } = await (limitMs === undefined ? announce(signal) : within(limitMs, signal, announce));
  const timeoutMs = limitMs && timeLeft(limitMs, startedAt);
  let isSending = false;
  const onWait = (wait: OutcomeWait) => {
    isSending = true;
    notes.write(waitText(wait));
  };
  const waiting = { until: "executed", timeoutMs, signal, onWait } as const;
  const sent = await client.submitTransaction(request, waiting).catch((reason: unknown) => {
    throw noted(reason, !isSending || isUnsent(reason), context);
  });
  notes.write(hashDifference(sent));
  printOutcome(sent.outcome, context, { json: options.json, more: { tid } });
}

/** Signs a transaction, unless it was signed before, and says which one is submitted next, and where. */
async function announced(
  { client, config, input, options, context }: SubmitTask,
  signal: AbortSignal,
): Promise<{ readonly request: SubmitTransactionRequest; readonly tid: string }> {
  const before = async () => {
    const request = await signedRequest(client, input, options, { environment: context.environment, signal });
    return { request, ...(await client.lastBlockHeight({ signal })) };
  };
  const { request, chainId } = await before().catch((reason: unknown) => {
    throw noted(reason, reason instanceof ConnectionError || reason instanceof CanceledError, context);
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
  return { request, tid: request.tx?.pow?.tid ?? "" };
}

/** Whether an error of a submission says that nothing was sent. */
function isUnsent(reason: unknown): boolean {
  return (
    reason instanceof RequestError ||
    (reason instanceof ConnectionError && !reason.connected) ||
    (reason instanceof CanceledError && !reason.mayHaveLeft)
  );
}

/** Notes beside an error that nothing was sent, unless the error says so itself. */
function noted(reason: unknown, isUnsent: boolean, { notes }: CommandContext): unknown {
  if (isUnsent && !(reason instanceof TradewireError && reason.advice.includes("othing was sent"))) {
    notes.write("Nothing was sent.\n");
  }
  return reason;
}

/** Asks before a signed transaction is used up by a check. */
async function confirmCheck(file: string, { in: input, err, notes, signal }: CommandContext): Promise<void> {
  const what = "a check uses up this signed transaction: the node refuses it afterwards, until the next block";
  const isTerminal = "isTTY" in input && input.isTTY === true;
  if (!isTerminal || file === STANDARD) {
    throw new RequestError(what, {
      advice: "Give --yes to check it all the same; or check the command itself, which signs another transaction.",
    });
  }
  const prompt = createInterface({ input, output: err });
  try {
    notes.write(`${what[0]?.toUpperCase()}${what.slice(1)}.\n`);
    const answer = await prompt.question("Check it all the same? [y/N] ", { signal });
    if (!/^y(es)?$/i.test(answer.trim())) {
      throw new RequestError("not checked", { advice: "Answer y, or give --yes." });
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
  { out, signal }: CommandContext,
): Promise<void> {
  const { success, code, data, log } = await client.checkTransaction(request.tx ?? {}, { signal });
  if (!success && !isRefusalCode(code)) {
    throw brokenAnswer(noVerdict({ code, data, log }));
  }
  if (!success) {
    const txHash = transactionHash(create(TransactionSchema, request.tx));
    throw new TransactionError({ success, txHash, code, data, log, height: 0n }, { isFirst });
  }
  const { tid = "" } = request.tx?.pow ?? {};
  out.write(options.json === true ? json({ success, code, data, log, tid }) : "The node would take it.\n");
}

/** The URL that a command calls first. */
function nodeOf({ transport, grpc, rest }: Config): string {
  const urls = transport === "rest" ? [rest?.url, grpc?.url] : [grpc?.url, rest?.url];
  return printable(urls.find((url) => url !== undefined) ?? "the configured node");
}

/** The length of a wait from which on it is announced, in milliseconds. */
const LONG_WAIT_MS = 30_000;

function waitText({ limitMs, lastBlock }: OutcomeWait): string {
  const until = lastBlock === undefined ? "" : `, at most until block ${lastBlock}`;
  return limitMs > LONG_WAIT_MS ? `Waiting up to ${span(limitMs / 1000)} for its outcome${until}.\n` : "";
}

/** Says that the node knows the transaction by another hash than this client computed, if it does. */
function hashDifference({ txHash, computedTxHash }: Pick<ExecutedCommand, "txHash" | "computedTxHash">): string {
  return txHash.toUpperCase() === computedTxHash
    ? ""
    : `The node knows it by another hash: ${printable(txHash)}, not ${computedTxHash}.\n`;
}

/** Gets the request of an input. Before a command is signed, it names the key, the chain and the node. */
function announcedSignature({ client, config, input, options, context }: SignTask): Promise<SubmitTransactionRequest> {
  const { notes, signal } = context;
  return signedRequest(client, input, options, context, async ({ publicKey }) => {
    const named = namedChain(undefined, { chainId: config.chainId, isLoopback: staysOnLoopback(config) });
    const chainId = named ?? (await client.lastBlockHeight({ signal })).chainId;
    notes.write(`Signing with key ${publicKey} for chain ${printable(chainId)}, node ${nodeOf(config)}.\n`);
  });
}

/** Gets the request of an input, which is signed now unless it was signed before. */
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
  readCommand(input.command); // A wrong command is refused even without a key.
  const signer = await commandSigner(options, context);
  await onSign(signer);
  const { chainIdPrefix, txVersion: version, type } = options;
  const tx = await client.signCommand(input.command, { signer, signal: context.signal, chainIdPrefix, version });
  return create(SubmitTransactionRequestSchema, { tx, type: submissionTypes[type] });
}
