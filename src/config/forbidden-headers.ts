/** Headers of the connection and of the message's form, which HTTP leaves to the part that sends. */
const FORBIDDEN: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Say whether a header is one that HTTP forbids callers to set.
 *
 * @param name the header's name, in any case
 * @returns whether it is forbidden
 */
export function isForbiddenHeader(name: string): boolean {
  return FORBIDDEN.has(name.toLowerCase());
}
