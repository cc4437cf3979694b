import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import type { TlsConfig } from "../config/config-schema.js";
import { RequestError } from "../errors/index.js";
import { fileError, quotedPath, READ_ADVICE } from "../errors/node-errors.js";
import type { ConnectionOptions } from "../runtime/index.js";

/** Options of Node's TLS, with the contents of the files that a configuration names. */
export interface TlsMaterial {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly servername?: string;
}

/** The time limit for the reply to a ping, in milliseconds, unless pings are sent more often. */
const PING_REPLY_MS = 15_000;

/**
 * The time without data after which the operating system probes a connection, in milliseconds. On Linux and macOS, Node
 * then has it probed once a second, ten times, so a machine that has vanished is noticed about ten seconds later.
 */
export const TCP_KEEPALIVE_MS = 60_000;

/**
 * The time between two pings over a WebSocket, in milliseconds. Proxies drop a WebSocket after 30 seconds without data. A
 * server that sends nothing from one ping to the next is gone.
 */
export const WEBSOCKET_PING_MS = 25_000;

/**
 * The silence that makes a connection suspect, in milliseconds. If a call ends after so long without a byte, a proxy may
 * have forgotten the connection.
 */
export const SUSPECT_AFTER_MS = 250;

/**
 * Returns the time limit for the reply to a ping.
 *
 * @param keepaliveMs the time between two pings, in milliseconds
 * @returns the time limit in milliseconds
 */
export function pingReplyMs(keepaliveMs: number): number {
  return Math.min(PING_REPLY_MS, keepaliveMs);
}

/**
 * Returns the options for connections to a server.
 *
 * @param url the server's URL, with `http:` or `https:`
 * @param tls the TLS options of the configuration
 * @param protocol the protocol to negotiate over TLS (ALPN), such as `h2`; by default none is negotiated
 * @returns the options; they include TLS options if the URL has `https:`
 */
export function connectionOptions(
  url: string,
  tls: TlsMaterial,
  protocol?: string,
): ConnectionOptions & { readonly host: string } {
  const { protocol: scheme, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  if (scheme !== "https:") {
    return { host, port: Number(port || 80) };
  }
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const alpn = protocol === undefined ? {} : { ALPNProtocols: [protocol] };
  return { host, port: Number(port || 443), tls: { ...servername, ...tls, ...alpn } };
}

/**
 * Reads the files of a TLS configuration.
 *
 * @param config the paths of PEM files and the name in the server's certificate; by default none
 * @returns the options that the configuration sets
 * @throws {@link FileError} if a file cannot be read; {@link RequestError} if it holds something else
 */
export function readTls({ caFile, certFile, keyFile, serverName }: TlsConfig = {}): TlsMaterial {
  const cert = certFile === undefined ? undefined : readPem(certFile, "CERTIFICATE");
  const key = keyFile === undefined ? undefined : readPem(keyFile, "PRIVATE KEY");
  if (cert !== undefined && certFile !== undefined && key !== undefined && keyFile !== undefined) {
    requirePair({ cert, certFile, key, keyFile });
  }
  return {
    ...(caFile !== undefined && { ca: readPem(caFile, "CERTIFICATE") }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(serverName !== undefined && { servername: serverName }),
  };
}

/** Checks that a key belongs to a certificate. TLS would fail at the first call, with a message that names no file. */
function requirePair(pair: Record<"cert" | "key", Buffer> & Record<"certFile" | "keyFile", string>): void {
  const key = parsePem(pair.keyFile, "private key", () => createPrivateKey(pair.key));
  const certificate = parsePem(pair.certFile, "certificate", () => new X509Certificate(pair.cert));
  if (!certificate.checkPrivateKey(key)) {
    throw new RequestError(
      `${quotedPath(pair.keyFile)} is not the key of the certificate in ${quotedPath(pair.certFile)}`,
      {
        advice:
          "Give the key that the certificate was made for; if the file holds several, the client's own comes first.",
        section: "requesterror-configuration",
      },
    );
  }
}

function parsePem<T>(path: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new RequestError(`the ${what} in ${quotedPath(path)} cannot be read`, {
      advice: `Give a complete ${what} in PEM, and a key without a passphrase.`,
      section: "requesterror-configuration",
      cause,
    });
  }
}

/** Reads a PEM file. Node's TLS ignores a file without the expected part, so this checks that the part is there. */
function readPem(path: string, label: "CERTIFICATE" | "PRIVATE KEY"): Buffer {
  const content = readContent(path);
  if (!new RegExp(`-----BEGIN [A-Z0-9 ]*${label}-----`).test(content.toString("latin1"))) {
    throw new RequestError(`${quotedPath(path)} holds no ${label.toLowerCase()} in PEM`, {
      advice: `Give a file with a part that begins with -----BEGIN ${label}-----.`,
      section: "requesterror-configuration",
    });
  }
  return content;
}

function readContent(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (reason) {
    throw fileError(reason, path, READ_ADVICE);
  }
}
