import type { Config, LoadedConfig } from "../index.js";
import { ownFilePath } from "../wire/config/config-files.js";
import { transportsOf, urlsOf } from "../wire/config/config-schema.js";
import { staysOnLoopback } from "../wire/config/loopback.js";
import type { Streams } from "./output.js";

/** A URL of the configuration, and the part that has it. */
export interface Place {
  readonly url: string;
  readonly endpoint: "grpc" | "rest";
}

export function placesOf(config: Config): Place[] {
  const endpoints = new Set(transportsOf(config.transport).map((each) => (each === "rest" ? "rest" : "grpc")));
  return [...endpoints].flatMap((endpoint) => urlsOf(config[endpoint]).map((url) => ({ url, endpoint })));
}

/** Explains where the URLs of the nodes come from, and how to set others. */
export function originsOf(loaded: LoadedConfig, environment: Streams["environment"]): string {
  const { config, sources } = loaded;
  const urls = placesOf(config).map(({ url, endpoint }) => ({ url, key: `${endpoint}.url` }));
  if (urls.every(({ key }) => sources.get(key) === "default")) {
    const file = ownFilePath(environment) ?? "a configuration file";
    const defaults = urls.map(({ url }) => url).join(" and ");
    return `No node is configured, so the default was used (${defaults}). Start a local node with \`tradewire devnode\`, or set your node's URL with --grpc-url, --rest-url or in ${file}.`;
  }
  const origins = urls.map(({ url, key }) => `${url} is set by ${originOf(loaded, key)}.`);
  const start = staysOnLoopback(config) ? ["`tradewire devnode` starts a local node."] : [];
  return [...origins, ...otherNodes(urls.map(({ key }) => sources.get(key) ?? "default")), ...start].join(" ");
}

/** Says how to name another node, unless options name all of them already. */
function otherNodes(sources: readonly string[]): string[] {
  if (sources.some((source) => / network \S+$/.test(source))) {
    return ["To use another network, set --use."];
  }
  return sources.every((source) => source.startsWith("--"))
    ? []
    : ["To use another node, set --grpc-url or --rest-url."];
}

/** Returns where the value of a key comes from. */
export function originOf({ sources, lineOf }: LoadedConfig, key: string): string {
  const line = lineOf(key);
  return `${sources.get(key) ?? "default"}${line === undefined ? "" : `, line ${line}`}`;
}
