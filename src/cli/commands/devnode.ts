import { once } from "node:events";
import { createReadStream } from "node:fs";
import { buffer } from "node:stream/consumers";
import { type Command, InvalidArgumentError, Option } from "commander";
import { DEFAULT_GRPC_PORT, DEFAULT_REST_PORT } from "../../config/load.js";
import type { DevnodeOptions, Genesis } from "../../devnode/index.js";
import { fileError, readingAdvice } from "../../errors/file-error.js";
import { profiles } from "../../schema/profile.js";
import { isTableName, tableNames } from "../../schema/tables.js";
import { type CommandContext, json, printable } from "../output.js";
import { repeated } from "../sync/clients.js";
import { wholeNumber } from "../whole-number.js";
import { addDevnodeControls } from "./devnode-controls.js";

type DevnodeCommandOptions = Omit<DevnodeOptions, "signal" | "genesis" | "onFailure" | "adminNames"> & {
  readonly genesis: Readonly<Record<string, string>>;
  readonly adminName?: readonly string[];
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
};

/**
 * Add the command `devnode`, which runs a local node, and those below it that control one.
 *
 * @param devnode the command `devnode`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addDevnode(devnode: Command, context: CommandContext): void {
  const { out, signal } = context;
  devnode
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--grpc-port <port>", "TCP port for gRPC; 0 takes a free one", wholeNumber, DEFAULT_GRPC_PORT)
    .option("--rest-port <port>", "TCP port for the HTTP gateway; 0 takes a free one", wholeNumber, DEFAULT_REST_PORT)
    .option("--chain-id <id>", "identifier of the chain (default: tradewire-devnet)")
    .addOption(
      new Option(
        "--profile <name>",
        "whether it behaves by the specification or as deployed nodes do (default: specification)",
      ).choices(profiles),
    )
    .option("--segments <count>", "number of history segments to begin with (default: 5)", wholeNumber)
    .option("--blocks-per-segment <count>", "blocks in each segment (default: 1000; deployed: 300)", wholeNumber)
    .option(
      "--schema-versions <versions>",
      "schema version of each segment, the last for all that follow (default: 115,115,115,116)",
      (text: string) => text.split(",").map(wholeNumber),
    )
    .addOption(
      new Option("--genesis <table=file>", "rows of a table from a CSV file, in place of made-up ones")
        .argParser(genesisFile)
        .default({}, "made-up rows"),
    )
    .option("--block-ms <milliseconds>", "time from one block to the next; 0 for none (default: 1000)", wholeNumber)
    .option("--activity <trades>", "trades of made-up parties in each block (default: 0)", wholeNumber)
    .option(
      "--funded-keys <keys>",
      "only these public keys, and those that the node prints, have balances and governance tokens; none for the latter alone (default: every key)",
      (text: string) => (text === "none" ? [] : text.split(",")),
    )
    .option("--data-dir <folder>", "folder that keeps the blocks across restarts (default: none, they are in memory)")
    .addOption(
      new Option(
        "--chain-id-prefix <rule>",
        "what transactions do with the chain's identifier (default: as the profile says)",
      ).choices(["signed-and-submitted", "signature-only"]),
    )
    .option(
      "--rate-limit",
      "limit the calls of each address as deployed nodes do, and ban who goes on (default: no limit)",
    )
    .option("--admin", "let the commands below control the node, through its gateway (default: they are refused)")
    .addOption(
      new Option("--admin-name <name>", "with --admin, a further name of this node, such as a container's").argParser(
        repeated,
      ),
    )
    .option("--json", "print where it listens as a JSON object")
    .allowExcessArguments()
    .action(async (given: DevnodeCommandOptions, { args: [unknown] }: Command) => {
      if (unknown !== undefined) {
        devnode.error(`error: unknown command '${unknown}'`);
      }
      const { genesis: files, json: asJson, quiet, verbose, adminName: adminNames, ...options } = given;
      // Loaded here, as those who control a node from beside it need no node.
      const { startDevnode } = await import("../../devnode/index.js");
      await using node = await startDevnode({
        ...options,
        adminNames,
        genesis: await readGenesis(files, signal),
        signal,
        onFailure({ height, txHash, errors }) {
          context.notes.write(`Block ${height}: transaction ${txHash} failed: ${printable(errors.join("; "))}\n`);
        },
      });
      const { grpcUrl, restUrl, chainId, mnemonic, keys } = node;
      if (asJson === true) {
        out.write(json({ grpcUrl, restUrl, chainId, mnemonic, keys }));
      } else {
        out.write(`gRPC ${grpcUrl}\nREST ${restUrl}\n`);
        context.notes.write(`Keys with balances, of the mnemonic that everybody knows, "${mnemonic}":\n`);
        context.notes.write(keys.map((key, index) => `  ${String(index + 1).padStart(2)} ${key}\n`).join(""));
      }
      context.notes.write(`The node of chain ${chainId} is running; Ctrl-C stops it.\n`);
      if (!signal.aborted) {
        await once(signal, "abort");
      }
    });
  addDevnodeControls(devnode, context);
}

function genesisFile(text: string, files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [table = "", ...path] = text.split("=");
  if (!isTableName(table) || path.length === 0) {
    throw new InvalidArgumentError(`Give TABLE=FILE; the tables are ${tableNames.join(", ")}.`);
  }
  return { ...files, [table]: path.join("=") };
}

async function readGenesis(files: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Genesis> {
  const read: (readonly [table: string, bytes: Buffer])[] = [];
  for (const [table, path] of Object.entries(files)) {
    // One after the other: each listens to the signal.
    const bytes = await buffer(createReadStream(path, { signal })).catch((reason: unknown) => {
      throw fileError(reason, path, readingAdvice);
    });
    read.push([table, bytes]);
  }
  return Object.fromEntries(read);
}
