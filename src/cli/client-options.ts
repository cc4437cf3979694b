import { Option } from "commander";
import { type LoadedConfig, loadConfig } from "../config/load.js";
import { type ClientConfig, configSchema } from "../config/schema.js";
import { RequestError } from "../errors/index.js";

/** The options that choose a node and how to talk to it. */
export interface ClientOptions {
  readonly config?: string;
  readonly transport?: string;
  readonly grpcUrl?: string;
  readonly restUrl?: string;
  readonly caFile?: string;
  readonly connectTimeout?: number;
  readonly callTimeout?: number;
  readonly idleTimeout?: number;
}

/** The command-line options that choose a node and how to talk to it. None takes a secret: others can read arguments. */
export function clientOptions(): Option[] {
  const timeout = (name: string, description: string) =>
    new Option(`--${name}-timeout <duration>`, description).argParser((text) =>
      milliseconds(`--${name}-timeout`, text),
    );
  return [
    new Option("--config <file>", "configuration file; by default tradewire.config.json, if it exists"),
    new Option("--transport <name>", "how to reach the node").choices(configSchema.shape.transport.unwrap().options),
    new Option("--grpc-url <url>", "where the node answers gRPC"),
    new Option("--rest-url <url>", "where the HTTP gateway answers"),
    new Option("--ca-file <file>", "PEM file with the certificate authorities to trust, for https URLs"),
    timeout("connect", "longest time until a connection is made, such as 500ms, 30s, 2m; without a unit, seconds"),
    timeout("call", "longest time for a call that does not stream"),
    timeout("idle", "longest time in which nothing comes on a stream"),
  ];
}

/**
 * The configuration that those options stand for, over that of the environment and the file.
 *
 * @throws {@link RequestError} where it is wrong
 */
export function clientConfig(options: ClientOptions): ClientConfig {
  return loadClientConfig(options).config;
}

/** The same, with where each value comes from. */
export function loadClientConfig(options: ClientOptions): LoadedConfig {
  const given = [
    { name: "--transport", key: "transport", value: options.transport },
    { name: "--grpc-url", key: "grpc.url", value: options.grpcUrl },
    { name: "--rest-url", key: "rest.url", value: options.restUrl },
    { name: "--connect-timeout", key: "timeouts.connectMs", value: options.connectTimeout },
    { name: "--call-timeout", key: "timeouts.callMs", value: options.callTimeout },
    { name: "--idle-timeout", key: "timeouts.idleMs", value: options.idleTimeout },
  ];
  const loaded = loadConfig({ file: options.config, arguments: given });
  if (options.caFile === undefined) {
    return loaded;
  }
  // Where no URL is https, the schema says so.
  const endpoints = (["grpc", "rest"] as const).filter((name) => loaded.config[name] !== undefined);
  const secure = endpoints.filter((name) => /^https:/i.test(loaded.config[name]?.url ?? ""));
  const keys = (secure.length > 0 ? secure : endpoints).map((name) => `${name}.tls.caFile`);
  const authorities = keys.map((key) => ({ name: "--ca-file", key, value: options.caFile }));
  return loadConfig({ file: options.config, arguments: [...given, ...authorities] });
}

const UNITS = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

/** A duration of the command line, in milliseconds. */
function milliseconds(option: string, text: string): number {
  const [, number, unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  if (number === undefined) {
    throw new RequestError(`${option}: ${JSON.stringify(text)} is no duration`, {
      advice: "Give a number with a unit, such as 500ms, 30s, 2m or 1h; without a unit, it is in seconds.",
    });
  }
  return Math.round(Number(number) * (UNITS.get(unit) ?? 1));
}
