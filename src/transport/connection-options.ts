import { isIP } from "node:net";
import type { ConnectionOptions } from "../runtime/index.js";
import type { TlsMaterial } from "./tls.js";

/**
 * Says how connections to a server are made.
 *
 * @param url of the server, with `http:` or `https:`
 * @param tls the options that the configuration sets for TLS
 * @param protocol what the server is asked to speak where TLS is used, such as `h2`; by default it is not asked
 * @returns the options; those for TLS are there where the URL has `https:`
 */
export function connectionOptions(url: string, tls: TlsMaterial, protocol?: string): ConnectionOptions {
  const { protocol: scheme, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  if (scheme !== "https:") {
    return { host, port: Number(port || 80) };
  }
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const asked = protocol === undefined ? {} : { ALPNProtocols: [protocol] };
  return { host, port: Number(port || 443), tls: { ...servername, ...tls, ...asked } };
}
