import type { Server } from "../base/errors/index.js";
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
export function originsOf(loaded: LoadedConfig, environment: Streams["environment"], server: Server = "node"): string {
  const { config, sources } = loaded;
  const urls = placesOf(config).map(({ url, endpoint }) => ({ url, key: `${endpoint}.url` }));
  if (urls.every(({ key }) => sources.get(key) === "default")) {
    const file = ownFilePath(environment) ?? "a configuration file";
    const defaults = urls.map(({ url }) => url).join(" and ");
    const start = server === "node" ? "Start a local node with `tradewire devnode`, or set" : "Set";
    return `No ${server} is configured, so the default was used (${defaults}). ${start} your ${server}'s URL with --grpc-url, --rest-url or in ${file}.`;
  }
  const origins = urls.map(({ url, key }) => `${url} is set by ${originOf(loaded, key)}.`);
  const start = server === "node" && staysOnLoopback(config) ? ["`tradewire devnode` starts a local node."] : [];
  return [
    ...origins,
    ...otherServers(
      urls.map(({ key }) => sources.get(key) ?? "default"),
      server,
    ),
    ...start,
  ].join(" ");
}

/** Says how to name another server, unless options name all of them already. */
function otherServers(sources: readonly string[], server: Server): string[] {
  if (sources.some((source) => / network \S+$/.test(source))) {
    return ["To use another network, set --use."];
  }
  return sources.every((source) => source.startsWith("--"))
    ? []
    : [`To use another ${server}, set --grpc-url or --rest-url.`];
}

/** Returns where the value of a key comes from. */
export function originOf({ sources, lineOf }: LoadedConfig, key: string): string {
  const line = lineOf(key);
  return `${sources.get(key) ?? "default"}${line === undefined ? "" : `, line ${line}`}`;
}
