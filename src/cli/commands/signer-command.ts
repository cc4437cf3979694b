import { once } from "node:events";
import type { Command } from "commander";
import { RequestError } from "../../base/errors/index.js";
import { shownPath } from "../../base/errors/node-errors.js";
import { readTrustedFile } from "../../base/file/read-file.js";
import { monotonicMs, unixMs } from "../../base/runtime/index.js";
import {
  connectSigner,
  type GuardMode,
  type KillReport,
  type Policy,
  parsePolicy,
  type SignerEvent,
  serveSigner,
  withSharedCount,
} from "../../index.js";
import { namedChain, requireChain } from "../../trade/transaction/signing-chain.js";
import { staysOnLoopback } from "../../wire/config/loopback.js";
import { parseStrictJson } from "../../wire/json/strict-json.js";
import { commandClient } from "../client.js";
import { clientConfig, clientOptions } from "../client-options.js";
import { addArguments, addOptions, addOwnAction, type OptionValues, text } from "../declarations.js";
import { type CommandContext, EXIT, json, printable, Reported } from "../output.js";
import { eventsOutput, outputFormat, outputOptions, printReport, printsJsonLines } from "../output-format.js";
import { chainIdOption } from "../shared-options.js";
import { commandSigner, keyFileOption } from "../transaction-input.js";

const signerOptions = {
  policy: text("<file>", "JSON file with the policy: what may be signed"),
  socket: text("<path>", "path of the Unix socket for programs; its folder must be writable by you only"),
  adminSocket: text("<path>", "path of another Unix socket, on which the operator can also relax the mode"),
  keyFile: keyFileOption,
  chainId: chainIdOption,
  ...eventsOutput,
  ...clientOptions,
};

type SignerOptions = OptionValues<typeof signerOptions>;

type ControlOptions = OptionValues<typeof outputOptions>;

/** Maximum size of a policy. */
const MAX_POLICY_BYTES = 1024 * 1024;

/** Defines the command `signer`, which runs a signer process, and its subcommands, which control one. */
export function addSigner(signer: Command, context: CommandContext): void {
  addOwnAction(signer.enablePositionalOptions(), signerOptions, (options) => runSigner(options, context));
  addControls(signer, context);
}

/** Serves a key until the command is interrupted. */
async function runSigner(options: SignerOptions, context: CommandContext): Promise<void> {
  const { output, signal, notes } = context;
  output.role = "answer";
  const { policy: policyFile, socket, adminSocket: admin } = options;
  if (policyFile === undefined || socket === undefined) {
    throw new RequestError("a signer needs a policy and a socket", {
      advice: "Set --policy to a JSON file, and --socket to the path of a socket.",
    });
  }
  const policy = await readPolicy(policyFile);
  const config = clientConfig(options, context, { forSigning: true });
  const chain = namedChain(undefined, { chainId: config.chainId, isLoopback: staysOnLoopback(config) });
  await using client = commandClient(options, context, { config });
  await using key = await commandSigner(options, context);
  const { height, chainId } = await client.lastBlockHeight({ signal });
  requireChain(chainId, chain);
  // What a process before this one has signed may be on its way; a program's node may be a block ahead.
  const shared = withSharedCount(key, { afterBlock: height + 1n });
  await using guard = await client.guard({ signer: shared, policy, chainId, signal });
  const log = createSignerLog(context, printsJsonLines(options, context));
  await using _ = await serveSigner({ guard, chainId, listen: socket, admin, onEvent: log.event, signal });
  log.ready({ publicKey: guard.publicKey, chainId, mode: guard.mode, policy: policyFile, socket, admin });
  notes.write("Ctrl-C stops the signer.\n");
  if (!signal.aborted) {
    await once(signal, "abort");
  }
}

async function readPolicy(path: string): Promise<Policy> {
  const content = await readTrustedFile(path, { kind: "a policy", maxBytes: MAX_POLICY_BYTES });
  const invalid = () =>
    new RequestError(`${shownPath(path)}: not valid JSON`, {
      advice: "Write a policy as guards.md in the documentation describes it.",
    });
  return parsePolicy(parseStrictJson(content, shownPath(path), invalid), path);
}

/** Adds the commands for the operator, and for stopping all programs. */
function addControls(signer: Command, context: CommandContext): void {
  const { out, output, signal } = context;
  const socket = { name: "<socket>", description: "path of the signer's socket" };
  const mode = signer
    .command("mode")
    .description(
      "Print the mode of a signer, or set it: active, reducing or halted. Only the --admin-socket can relax it.",
    );
  const modes: readonly GuardMode[] = ["active", "reducing", "halted"];
  addArguments(mode, [socket, { name: "[mode]", description: "the new mode", choices: modes }]);
  addOptions(mode, outputOptions).action(async (path: string, next: GuardMode | undefined, options: ControlOptions) => {
    output.role = "answer";
    await using remote = await connectSigner(path, { signal });
    if (next !== undefined) {
      await remote.setMode(next);
    }
    const now = await remote.mode();
    const table = () => {
      out.write(`${now}\n`);
    };
    await printReport({ table, object: () => ({ mode: now }) }, outputFormat(options, context), context);
  });
  const kill = signer
    .command("kill")
    .description("Halt a signer for all programs, and cancel all orders and stop orders of its key.");
  addArguments(kill, [socket]);
  addOptions(kill, outputOptions).action(async (path: string, options: ControlOptions) => {
    output.role = "answer";
    await using remote = await connectSigner(path, { signal });
    const report = await remote.kill({ signal });
    const table = () => {
      out.write(`${reportLines(report)}\n`);
    };
    await printReport({ table, object: () => report }, outputFormat(options, context), context);
    if (!report.isClear) {
      throw new Reported(EXIT.failure);
    }
  });
}

function reportLines({ isClear, orders, stopOrders, unseen, positions, cancellations, problems }: KillReport): string {
  const counted = (found: readonly string[] | undefined) => found?.length ?? "unknown";
  const open = Object.entries(positions ?? {}).map(
    ([market, volume]) => `Position ${printable(`${volume} in ${market}`)}`,
  );
  return [
    isClear ? "No orders remain." : "Orders may remain.",
    `Orders: ${counted(orders)}, stop orders: ${counted(stopOrders)}, signed but not yet seen: ${unseen}`,
    `Cancellations: ${cancellations.sent} sent, ${cancellations.executed} executed`,
    ...(positions === undefined ? ["Positions: unknown"] : open),
    ...problems.map((problem) => `Problem: ${printable(problem)}`),
  ].join("\n");
}

/** How many events are printed in a period, and its length in milliseconds. Programs must not fill a disk with refusals. */
const MAX_EVENTS = 100;
const PERIOD_MS = 10_000;

interface ReadySigner {
  readonly publicKey: string;
  readonly chainId: string;
  readonly mode: GuardMode;
  /** The path of the policy. */
  readonly policy: string;
  /** The path of the socket. */
  readonly socket: string;
  readonly admin?: string | undefined;
}

/** Prints the events of a signer process, one per line. */
export interface SignerLog {
  ready(signer: ReadySigner): void;
  event(event: SignerEvent): void;
}

/**
 * Creates the log of a signer process. If a reader is slow, or there are too many events, events are counted instead.
 */
export function createSignerLog({ out }: Pick<CommandContext, "out">, asJson: boolean): SignerLog {
  let [periodStart, printed, omitted] = [monotonicMs(), 0, 0];
  let isFull = false;
  const write = (event: object, line: string) => {
    const time = new Date(unixMs()).toISOString();
    isFull = !out.write(asJson ? json({ time, ...event }) : `${printable(line)}\n`);
    if (isFull) {
      out.once("drain", () => {
        isFull = false;
      });
    }
  };
  return {
    ready(signer) {
      const { publicKey, chainId, mode, policy, socket, admin } = signer;
      const sockets = admin === undefined ? socket : `${socket}, ${admin} for the operator`;
      write(
        { event: "ready", ...signer },
        `Signing with ${publicKey} for chain ${chainId}, ${mode}, by ${policy}, on ${sockets}.`,
      );
    },
    event(event) {
      const now = monotonicMs();
      if (now - periodStart >= PERIOD_MS) {
        [periodStart, printed] = [now, 0];
      }
      if (printed >= MAX_EVENTS || isFull) {
        omitted += 1;
        return;
      }
      printed += 1;
      if (omitted > 0) {
        write({ event: "omitted", count: omitted }, `${omitted} events were not printed.`);
        omitted = 0;
      }
      const [fields, line] = described(event);
      write({ event: event.type, ...fields }, line);
    },
  };
}

/** Returns the fields of an event in JSON, and its line. */
function described(event: SignerEvent): readonly [fields: object, line: string] {
  switch (event.type) {
    case "refused":
      return [{ error: event.error.toJSON() }, `Refused: ${event.error.summary}`];
    case "failed": {
      const message = event.error instanceof Error ? event.error.message : String(event.error);
      return [{ error: { message } }, `Failed: ${message}`];
    }
    case "mode": {
      const by = event.by === "operator" ? "the operator" : "a program";
      return [{ mode: event.mode, by: event.by }, `The mode is ${event.mode}, set by ${by}.`];
    }
    case "killed":
      return [{ report: event.report }, "The kill switch was triggered."];
  }
}
