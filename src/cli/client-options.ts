import { Option } from "commander";
import type { ClientConfig } from "../config.js";

/** The options that choose a node and a transport. */
export interface ClientOptions {
  readonly transport?: "grpc" | "rest";
  readonly grpcUrl: string;
  readonly restUrl: string;
}

/** The ports that deployed nodes and the local one take by default. */
export const DEFAULT_GRPC_PORT = 3007;
export const DEFAULT_REST_PORT = 3008;

/** The command-line options that choose a node and a transport. */
export function clientOptions(): Option[] {
  return [
    new Option("--transport <name>", "how to reach the node").choices(["grpc", "rest"]).default("grpc"),
    new Option("--grpc-url <url>", "where the node answers gRPC").default(`http://127.0.0.1:${DEFAULT_GRPC_PORT}`),
    new Option("--rest-url <url>", "where the HTTP gateway answers").default(`http://127.0.0.1:${DEFAULT_REST_PORT}`),
  ];
}

/** The configuration that those options stand for. */
export function clientConfig({ transport = "grpc", grpcUrl, restUrl }: ClientOptions): ClientConfig {
  return transport === "grpc" ? { transport, grpc: { url: grpcUrl } } : { transport, rest: { url: restUrl } };
}
