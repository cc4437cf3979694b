import { isIPv4 } from "node:net";

/** Where requests go. */
interface Destination {
  readonly url: string;
  /** Addresses to take instead of the URL's host. */
  readonly addresses?: readonly string[] | undefined;
}

/**
 * Find a host to which requests go over plain HTTP, and so past other machines.
 *
 * @param destination the URL, and the addresses that are taken instead of its host
 * @returns the first such host; undefined where there is none
 */
export function exposedHost({ url, addresses }: Destination): string | undefined {
  const { protocol, host } = new URL(url);
  const hosts = (addresses ?? [host]).map((address) => new URL(`http://${address}`).hostname);
  return protocol === "http:" ? hosts.find((name) => !isLoopback(name)) : undefined;
}

/**
 * Say whether a URL's host is this machine.
 *
 * @param hostname the host's name or address
 * @returns whether it is loopback's
 */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return (
    host === "localhost" || host.endsWith(".localhost") || host === "::1" || (isIPv4(host) && host.startsWith("127."))
  );
}
