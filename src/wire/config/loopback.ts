import { isIPv4 } from "node:net";
import { type Config, nodesOf, transportsOf } from "./client-config.js";

/** The part of an endpoint's configuration that decides where requests go. */
interface Target {
  readonly url: string;
  readonly addresses?: readonly string[] | undefined;
}

function hostsOf({ url, addresses }: Target): string[] {
  return (addresses ?? [new URL(url).host]).map((address) => new URL(`http://${address}`).hostname);
}

export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return (
    host === "localhost" || host.endsWith(".localhost") || host === "::1" || (isIPv4(host) && host.startsWith("127."))
  );
}

/** Returns whether all requests of a client stay on this machine, over any transport that it may use. */
export function staysOnLoopback({ transport, grpc, rest }: Pick<Config, "transport" | "grpc" | "rest">): boolean {
  return transportsOf(transport).every((each) => {
    const targets: Target[] = nodesOf(each === "rest" ? rest : grpc);
    return typeof each === "string" && targets.flatMap(hostsOf).every(isLoopback);
  });
}

export function exposedHost(target: Target): string | undefined {
  const isPlain = URL.canParse(target.url) && new URL(target.url).protocol === "http:";
  return isPlain ? hostsOf(target).find((host) => !isLoopback(host)) : undefined;
}
