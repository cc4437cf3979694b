import { RequestError } from "../../base/errors/index.js";
import type { Client } from "../../index.js";
import { MAX_GAPS } from "../../sync/coverage.js";
import {
  type PostgresSink,
  queueStatus,
  type SyncClient,
  type SyncOptions,
  type SyncState,
  startWatch,
  type TableRange,
  type Watch,
  type WatchOptions,
} from "../../sync/index.js";
import { firstUrl, transportsOf } from "../../wire/config/config-schema.js";
import { readSources } from "../../wire/config/load-config.js";
import { commandClient, type Reports } from "../client.js";
import { type ClientOptions, clientConfig } from "../client-options.js";
import { choice, type OptionValues, parsed, text, textList } from "../declarations.js";
import { grouped } from "../formatting.js";
import { parseBlockHeight, parseInteger } from "../parsers.js";
import { blockOptions, followOption, intervalOption, parallelOption, tablesOption } from "../shared-options.js";

/** The options that select a part of the history. */
export const rangeOptions = {
  table: tablesOption,
  ...blockOptions("segments that start before it are skipped", "segments that end after it are skipped"),
};

/** The options that say how history is synced. */
export const loadingOptions = {
  follow: followOption,
  interval: intervalOption,
  parallel: parallelOption(2),
  segmentsPerExport: parsed("<count>", "number of adjacent segments per export (default: 1)", parseInteger),
  replaceFromBlock: parsed(
    "<height>",
    "from this block onwards, replace the loaded history with the node's",
    parseBlockHeight,
  ),
  unknownColumns: choice("<rule>", "add unknown columns of a newer node as text, or fail the unit", ["add", "fail"]),
};

/** The option that limits the calls of all planners and workers of a queue together. */
export const callsPerSecondOption = parsed(
  "<count>",
  "maximum calls per second to a node by all planners and workers of a queue; use the same value for each (default: 20)",
  parseInteger,
);

/** The options that serve the status page, metrics and health checks of a sync. */
export const httpOptions = {
  http: text("<host:port>", "serve the status page, metrics and health checks on this address, such as 127.0.0.1:9464"),
  httpName: textList("<name>", "additional hostname to accept in the Host header, such as a container's"),
};

export type RangeOptions = OptionValues<typeof rangeOptions>;
export type LoadingOptions = OptionValues<typeof loadingOptions>;
export type HttpOptions = OptionValues<typeof httpOptions>;

/**
 * Returns the tables and blocks that the options select.
 *
 * @throws {@link RequestError} if a table is unknown
 */
export function rangeOf({ table, fromBlock, toBlock }: RangeOptions): Pick<SyncOptions, "tables" | "range"> {
  const range = { ...(fromBlock !== undefined && { fromBlock }), ...(toBlock !== undefined && { toBlock }) };
  return { ...(table && { tables: [...new Set(table)] }), range };
}

/**
 * Returns the library's options of a sync.
 *
 * @throws {@link RequestError} if a table is unknown, or options exclude each other
 */
export function syncOptionsOf(options: RangeOptions & LoadingOptions): Omit<SyncOptions, "sink"> {
  const { follow, interval, parallel, segmentsPerExport, replaceFromBlock: replaceFrom, unknownColumns } = options;
  if (interval !== undefined && follow !== true) {
    throw new RequestError("--interval needs --follow", { advice: "Add --follow, or remove --interval." });
  }
  return { ...rangeOf(options), follow, pollMs: interval, parallel, segmentsPerExport, replaceFrom, unknownColumns };
}

/**
 * Serves the status page, metrics and health checks of a sync, if `--http` is set.
 *
 * @throws {@link RequestError} if `--http-name` is set without `--http`
 */
export async function startStatusServer(
  { http: listen, httpName: names }: HttpOptions,
  state: SyncState,
  more: Pick<WatchOptions, "signal" | "queue">,
): Promise<Watch | undefined> {
  if (listen === undefined) {
    if (names !== undefined) {
      throw new RequestError("--http-name needs --http", { advice: "Add --http, or remove --http-name." });
    }
    return undefined;
  }
  return await startWatch({ ...more, listen, names, state });
}

export async function queueCounts(sink: PostgresSink): Promise<Readonly<Record<string, number>>> {
  const status = await queueStatus(sink);
  return status === undefined
    ? {}
    : {
        waiting: status.waiting,
        backoff: status.backoff,
        active: status.underWay.length,
        dead: status.deadLetters.length,
      };
}

/** The nodes of a sync, each with its client. */
export interface SyncClients extends AsyncDisposable {
  readonly clients: readonly SyncClient[];
  /** Whether all calls go over gRPC. Nodes count exports as calls only over REST. */
  readonly overGrpc: boolean;
}

/**
 * Creates a client for each node. With at most one URL of each kind there is one node, which is reached over either; otherwise
 * each URL is a separate node.
 *
 * @throws {@link RequestError} if the configuration is invalid
 */
export function openClients(options: ClientOptions, reports: Reports): SyncClients {
  const opened: Client[] = [];
  const close = async () => {
    await Promise.allSettled(opened.map((client) => client.close()));
  };
  let overGrpc = true;
  const sources = readSources({ file: options.config, use: options.use, environment: reports.environment });
  const clients = optionsByNode(options).map((nodeOptions): SyncClient => {
    const config = clientConfig(nodeOptions, reports, { sources });
    overGrpc &&= !transportsOf(config.transport).includes("rest");
    const client = commandClient(nodeOptions, reports, { config });
    opened.push(client);
    return {
      name: nodeName(firstUrl(config)),
      exportNetworkHistory: (request, more) => client.exportNetworkHistory(request, more),
      listSegments: (more) => client.listSegments(more),
      dataNodeLag: (more) => client.dataNodeLag(more),
      referencedRecords: (more) => client.referencedRecords(more),
    };
  });
  return { clients, overGrpc, [Symbol.asyncDispose]: close };
}

function optionsByNode({ grpcUrl = [], restUrl = [], ...options }: ClientOptions): ClientOptions[] {
  const [grpc, rest] = [[...new Set(grpcUrl)], [...new Set(restUrl)]];
  if (grpc.length <= 1 && rest.length <= 1) {
    return [{ ...options, ...(grpc[0] && { grpcUrl: [grpc[0]] }), ...(rest[0] && { restUrl: [rest[0]] }) }];
  }
  const { transport } = options;
  const [only = "", ...others] = transport ?? [];
  const isOfOthers = (only === "rest" ? grpc : rest).length > 0;
  if (transport !== undefined && (only === "auto" || others.length > 0 || isOfOthers)) {
    throw new RequestError(
      `--transport ${transport.join(",")} does not match the URLs, which each name a separate node`,
      {
        advice: "Remove --transport: nodes of --grpc-url are called over gRPC, those of --rest-url over REST.",
      },
    );
  }
  return [
    ...grpc.map((url) => ({ ...options, grpcUrl: [url], transport: transport ?? ["grpc"] })),
    ...rest.map((url) => ({ ...options, restUrl: [url], transport: ["rest"] })),
  ];
}

/** Returns the name of a node: its URL without the parts that may be secret. */
function nodeName(url: string | undefined): string {
  return url === undefined ? "the node" : new URL(url).origin;
}

/** The maximum number of ranges that are listed. */
const MAX_NAMED = 20;

/** The heading of blocks that a target lacks and that no sync can load. */
export const GAPS_HEADING =
  "Missing blocks that no node has, so that no sync can load them (nodes drop old segments; add a node that has them, or start with --from-block)";

/** Lists ranges of blocks. If there are as many as a comparison lists, there may be more. */
export function rangesText(heading: string, ranges: readonly TableRange[]): string {
  const lines = ranges
    .slice(0, MAX_NAMED)
    .map(({ table, fromBlock, toBlock }) => `  ${table} of blocks ${fromBlock} to ${toBlock}\n`);
  const atLeast = ranges.length >= MAX_GAPS ? "at least " : "";
  const more = ranges.length > MAX_NAMED ? `  and ${atLeast}${grouped(ranges.length - MAX_NAMED)} more\n` : "";
  return ranges.length === 0 ? "" : `${heading}:\n${lines.join("")}${more}`;
}
