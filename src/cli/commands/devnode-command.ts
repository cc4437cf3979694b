import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { type Command, InvalidArgumentError } from "commander";
import { Code } from "../../base/errors/code.js";
import { ConnectionError, ProtocolError, RequestError } from "../../base/errors/index.js";
import { timeoutSignal } from "../../base/runtime/index.js";
import { isTableName, tableNames } from "../../data/schema/table-names.js";
import type { Genesis } from "../../node/index.js";
import { DEFAULT_GRPC_PORT, DEFAULT_REST_PORT } from "../../wire/config/load-config.js";
import { readBytes } from "../command-files.js";
import {
  type ArgumentDeclaration,
  addArguments,
  addOptions,
  addOwnAction,
  flag,
  flagOf,
  list,
  type OptionValues,
  parsed,
  text,
  textList,
  withDefault,
} from "../declarations.js";
import { size } from "../formatting.js";
import { type CommandContext, json, printable, writeOut } from "../output.js";
import { outputFormat, outputOptions, printReport } from "../output-format.js";
import { parseDurationOrZero, parseInteger } from "../parsers.js";
import { chainIdPrefixOption, ownChainIdOption, profileOption } from "../shared-options.js";

const devnodeOptions = {
  host: withDefault(text("<address>", "address to listen on"), "127.0.0.1"),
  grpcPort: withDefault(parsed("<port>", "TCP port for gRPC; 0 picks a free port", parseInteger), DEFAULT_GRPC_PORT),
  restPort: withDefault(
    parsed("<port>", "TCP port for the HTTP gateway; 0 picks a free port", parseInteger),
    DEFAULT_REST_PORT,
  ),
  chainId: ownChainIdOption,
  profile: profileOption,
  segments: parsed("<count>", "number of initial history segments (default: 5)", parseInteger),
  blocksPerSegment: parsed("<count>", "number of blocks per segment (default: 1000; deployed: 300)", parseInteger),
  schemaVersions: list(
    "<number>",
    "schema version of each segment; the last one applies to all later segments (default: 115,115,115,116)",
    parseInteger,
  ),
  genesis: withDefault(
    parsed("<table=file>", "CSV file with rows of a table, instead of generated rows", genesisFile, {
      completions: (word) => ({ values: tableNames.map((table) => `${table}=`), files: word.includes("=") }),
    }),
    {},
    "generated rows",
  ),
  blockTime: parsed(
    "<duration>",
    "time between blocks; 0 makes no blocks automatically (default: 1s)",
    parseDurationOrZero,
  ),
  commitDelay: parsed(
    "<duration>",
    "time from a block's events until listings have its records (default: 75ms; with --block-time 0: 0)",
    parseDurationOrZero,
  ),
  activity: parsed("<trades>", "number of trades of generated parties per block (default: 0)", parseInteger),
  fundedKeys: textList(
    "<key>",
    "fund only these public keys and those that the node prints; none funds only those that the node prints (default: fund every key)",
  ),
  dataDir: text("<folder>", "folder that keeps the blocks across restarts (default: blocks are stored in memory)"),
  chainIdPrefix: chainIdPrefixOption,
  rateLimit: flag(
    "limit the calls of each address as deployed nodes do, and ban clients that exceed it (default: no limit)",
  ),
  admin: flag("let the commands below control the node through its gateway (default: they are rejected)"),
  adminName: textList("<name>", "with --admin: additional hostname of this node, such as a container's"),
  ...outputOptions,
};

type DevnodeCommandOptions = OptionValues<typeof devnodeOptions> & {
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  readonly color?: boolean;
};

/** Defines the command `devnode`, which runs a local node, and its subcommands, which control one. */
export function addDevnode(devnode: Command, context: CommandContext): void {
  const { signal } = context;
  addOwnAction(devnode, devnodeOptions, async (commandOptions: DevnodeCommandOptions) => {
    const { json: _, output: __, quiet, verbose, color, ...nodeOptions } = commandOptions;
    const { genesis: files, adminName: adminNames, blockTime, commitDelay, fundedKeys, ...options } = nodeOptions;
    // Loaded lazily, because the commands that control a node do not need it.
    const { startDevnode } = await import("../../node/index.js");
    await using node = await startDevnode({
      ...options,
      adminNames,
      blockMs: blockTime,
      commitDelayMs: commitDelay,
      fundedKeys: fundedKeys?.filter((key) => key !== "none"),
      genesis: await readGenesis(files, context),
      signal,
      onFailure({ height, txHash, errors }) {
        context.notes.write(`Block ${height}: transaction ${txHash} failed: ${printable(errors.join("; "))}\n`);
      },
    });
    const { grpcUrl, restUrl, chainId, mnemonic, keys } = node;
    const report = {
      async table() {
        await writeOut(context, `gRPC ${grpcUrl}\nREST ${restUrl}\n`);
        context.notes.write(`Keys with balances, from the publicly known mnemonic "${mnemonic}":\n`);
        context.notes.write(keys.map((key, index) => `  ${String(index + 1).padStart(2)} ${key}\n`).join(""));
      },
      object: () => ({ grpcUrl, restUrl, chainId, mnemonic, keys }),
    };
    await printReport(report, outputFormat(commandOptions, context), context);
    context.notes.write(`The node of chain ${chainId} is running; Ctrl-C stops it.\n`);
    if (!signal.aborted) {
      await once(signal, "abort");
    }
  });
  addDevnodeControls(devnode, context);
}

function genesisFile(
  text: string,
  _flag: string,
  files: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  const [table = "", ...path] = text.split("=");
  if (!isTableName(table) || path.length === 0) {
    throw new InvalidArgumentError(`Use TABLE=FILE, where TABLE is one of ${tableNames.join(", ")}.`);
  }
  return { ...files, [table]: path.join("=") };
}

async function readGenesis(files: Readonly<Record<string, string>>, context: CommandContext): Promise<Genesis> {
  const read: (readonly [table: string, bytes: Buffer])[] = [];
  for (const [table, path] of Object.entries(files)) {
    // One after the other, because each listens to the signal.
    const bytes = await buffer(readBytes(path, context));
    context.notes.write(`Loading the rows of ${table} (${size(bytes.length)}) …\n`);
    read.push([table, bytes]);
  }
  return Object.fromEntries(read);
}

/** The timeout of a command to the node, in milliseconds. */
const CONTROL_TIMEOUT_MS = 60_000;

const controlOptions = {
  url: withDefault(parsed("<url>", "URL of the node's gateway", gatewayUrl), `http://127.0.0.1:${DEFAULT_REST_PORT}`),
};

const failureOptions = {
  times: parsed("<count>", "number of calls that fail", parseInteger),
  afterBytes: parsed("<bytes>", "bytes of the response to send before the failure", parseInteger),
};

type ControlOptions = OptionValues<typeof controlOptions>;

/** Defines the commands that control a local node started with `--admin`. */
export function addDevnodeControls(devnode: Command, { out, signal }: CommandContext): void {
  const add = (name: string, description: string, ...operands: ArgumentDeclaration[]) =>
    addOptions(
      addArguments(devnode.command(name).allowExcessArguments(false).description(description), operands),
      controlOptions,
    );
  const send = async ({ url }: ControlOptions, command: string, body: object) => {
    out.write(json(await post(url, command, body, signal)));
  };

  add("make-block", "Make a block of all pending transactions now.").action((options: ControlOptions) =>
    send(options, "make-block", {}),
  );
  add("set-time", "Set the block time: ISO 8601, later than the last block.", {
    name: "<time>",
  }).action((time: string, options: ControlOptions) => send(options, "set-time", { time }));
  add("snapshot", "Save the state of the node, and print the snapshot ID.").action((options: ControlOptions) =>
    send(options, "snapshot", {}),
  );
  add("revert", "Restore a snapshot.", { name: "<id>" }).action((id: string, options: ControlOptions) =>
    send(options, "revert", { id }),
  );
  add("reset", "Restore the initial state.").action((options: ControlOptions) => send(options, "reset", {}));
  const failNext = add(
    "fail-next",
    "Make the next calls of a method fail with a code such as UNAVAILABLE, or with cut, stall or error-after-archive.",
    { name: "<method>", completions: async () => (await import("../api/describe.js")).completeMethods() },
    { name: "<how>" },
  );
  addOptions(failNext, failureOptions).action(
    (method: string, how: string, options: ControlOptions & OptionValues<typeof failureOptions>) => {
      const { times, afterBytes } = options;
      return send(options, "fail-next", { method, with: how, times, afterBytes });
    },
  );
}

function gatewayUrl(text: string): string {
  if (!/^https?:/.test(text) || !URL.canParse(text)) {
    throw new InvalidArgumentError(`Use an http: URL, such as http://127.0.0.1:${DEFAULT_REST_PORT}.`);
  }
  return text;
}

async function post(url: string, command: string, body: object, signal: AbortSignal): Promise<unknown> {
  const names = new URLSearchParams(Object.keys(failureOptions).map((name): [string, string] => [name, flagOf(name)]));
  const target = new URL(`/admin/${command}?${names}`, url);
  const response = await fetch(target, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, timeoutSignal(CONTROL_TIMEOUT_MS)]),
  }).catch((cause: unknown) => {
    throw new ConnectionError(`no node responds at ${target.origin}`, {
      code: Code.Unavailable,
      advice: "Start one with `tradewire devnode --admin`, or set --url to the URL of its gateway.",
      cause,
      connected: false,
    });
  });
  const result: unknown = await response.json().catch(() => undefined);
  const isObject = typeof result === "object" && result !== null;
  if (response.ok && isObject) {
    return result;
  }
  if (response.status === 404) {
    throw new RequestError(`the node at ${target.origin} does not accept commands`, {
      advice: "Start it with --admin, or set --url to the gateway of a node that runs with --admin.",
    });
  }
  if (response.status === 400 && isObject && "message" in result) {
    // The message is the summary and, on a second line, the advice if there is any.
    const [summary = "", advice] = String(result.message).split("\n");
    throw new RequestError(summary, { advice });
  }
  throw new ProtocolError(`${target.origin} responded with ${response.status}, unlike a local node`, {
    code: Code.Internal,
    advice: "Set --url to the gateway of a node that runs with --admin. Another server may have responded.",
  });
}
