import type { Option } from "commander";
import type { Client } from "../../client/index.js";
import { readSources } from "../../config/load.js";
import { RequestError } from "../../errors/index.js";
import type { SyncClient } from "../../sync/options.js";
import { commandClient, type Reports } from "../client.js";
import { type ClientOptions, clientConfig, clientOptions } from "../client-options.js";

/** The values of {@link syncClientOptions}: the URLs may be given several times. */
export interface SyncClientOptions extends Omit<ClientOptions, "grpcUrl" | "restUrl"> {
  readonly grpcUrl?: readonly string[];
  readonly restUrl?: readonly string[];
}

/** The nodes of a sync, each with a client of its own. */
export interface SyncClients extends AsyncDisposable {
  readonly clients: readonly SyncClient[];
  /** Whether all of them are asked over gRPC alone, so that nodes do not count exports as calls. */
  readonly overGrpc: boolean;
}

/**
 * Create the options that choose nodes, and the way to reach them.
 *
 * @returns those of all commands, with URLs that may be given several times
 */
export function syncClientOptions(): Option[] {
  const options = clientOptions();
  for (const option of options) {
    if (option.long === "--grpc-url" || option.long === "--rest-url") {
      option.description += "; several nodes of one network share the load";
      option.argParser(repeated);
    }
  }
  return options;
}

/**
 * Collect the values of an option that may be given several times.
 *
 * @param value one value
 * @param before those before it
 * @returns all of them
 */
export function repeated(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/**
 * Create a client for each node. One URL of each kind is one node, which is reached over either; of several URLs each is a
 * node of its own.
 *
 * @param options the values of the options
 * @param reports takes the reports of the clients, each a line; with the environment variables
 * @returns the clients; the caller disposes of them
 * @throws {@link RequestError} where the configuration is wrong
 */
export function openClients(options: SyncClientOptions, reports: Reports): SyncClients {
  const opened: Client[] = [];
  const close = async () => {
    await Promise.allSettled(opened.map((client) => client.close()));
  };
  let overGrpc = true;
  const sources = readSources({ file: options.config, environment: reports.environment });
  const clients = choicesOf(options).map((choice): SyncClient => {
    const config = clientConfig(choice, reports, { sources });
    overGrpc &&= config.transport === "grpc" || config.transport === "grpc-js";
    const client = commandClient(choice, reports, { config });
    opened.push(client);
    return {
      name: nameOf(config.grpc?.url, config.rest?.url, config.transport),
      exportNetworkHistory: (request, more) => client.exportNetworkHistory(request, more),
      listSegments: (more) => client.listSegments(more),
      dataNodeLag: (more) => client.dataNodeLag(more),
    };
  });
  return { clients, overGrpc, [Symbol.asyncDispose]: close };
}

/** The options of each node's client. */
function choicesOf({ grpcUrl = [], restUrl = [], ...options }: SyncClientOptions): ClientOptions[] {
  const [grpc, rest] = [[...new Set(grpcUrl)], [...new Set(restUrl)]];
  if (grpc.length <= 1 && rest.length <= 1) {
    return [{ ...options, ...(grpc[0] && { grpcUrl: grpc[0] }), ...(rest[0] && { restUrl: rest[0] }) }];
  }
  const { transport } = options;
  if (transport !== undefined && (transport === "auto" || (transport === "rest" ? grpc : rest).length > 0)) {
    throw new RequestError(`--transport ${transport} does not fit the URLs, each of which is a node of its own`, {
      advice: "Leave it out: nodes of --grpc-url are asked over gRPC, those of --rest-url over REST.",
    });
  }
  return [
    ...grpc.map((url) => ({ ...options, grpcUrl: url, transport: transport ?? "grpc" })),
    ...rest.map((url) => ({ ...options, restUrl: url, transport: "rest" })),
  ];
}

/** What a node is called: its URL without what may be secret in it. */
function nameOf(grpcUrl: string | undefined, restUrl: string | undefined, transport: string | undefined): string {
  const url = transport === "rest" ? restUrl : (grpcUrl ?? restUrl);
  return url === undefined ? "the node" : new URL(url).origin;
}
