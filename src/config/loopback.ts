import { isIPv4 } from "node:net";

/** A part of a configuration that says where requests go. */
interface Target {
  readonly url: string;
  readonly addresses?: readonly string[] | undefined;
}

/**
 * List the hosts that requests go to.
 *
 * @param target the URL, and the addresses that stand in for its host
 * @returns the hosts, IPv6 addresses in brackets
 */
function hostsOf({ url, addresses }: Target): string[] {
  return (addresses ?? [new URL(url).host]).map((address) => new URL(`http://${address}`).hostname);
}

/**
 * Whether a URL's host is loopback.
 *
 * @param hostname as in a `URL`
 * @returns whether it stands for this machine
 */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return (
    host === "localhost" || host.endsWith(".localhost") || host === "::1" || (isIPv4(host) && host.startsWith("127."))
  );
}

/**
 * Whether a client's requests stay on this machine, over whichever transport it takes.
 *
 * @param config the transport, and where gRPC and the HTTP gateway are
 * @returns whether every host that it may call is loopback
 */
export function staysOnLoopback(config: {
  readonly transport: string;
  readonly grpc?: Target | undefined;
  readonly rest?: Target | undefined;
}): boolean {
  const { transport, grpc, rest } = config;
  const called = [
    transport === "rest" ? undefined : grpc,
    transport === "rest" || transport === "auto" ? rest : undefined,
  ];
  return called.every((target) => target === undefined || hostsOf(target).every(isLoopback));
}

/**
 * Find a host to which requests go over plain HTTP, and so past other machines.
 *
 * @param target the URL, and the addresses that stand in for its host
 * @returns the first such host; undefined where there is none
 */
export function exposedHost(target: Target): string | undefined {
  return new URL(target.url).protocol === "http:" ? hostsOf(target).find((host) => !isLoopback(host)) : undefined;
}
