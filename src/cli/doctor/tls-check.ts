import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { type PeerCertificate, TLSSocket } from "node:tls";
import { connect, timeoutSignal, unixMs } from "../../base/runtime/index.js";
import type { Config } from "../../index.js";
import { proxyFor, proxyName } from "../../wire/config/proxy.js";
import type { Finding } from "./finding.js";

/** A certificate that expires within this time causes a warning, in milliseconds. */
const EXPIRES_SOON_MS = 14 * 24 * 60 * 60 * 1000;

/** The certificate and the errors of a TLS server. */
interface Shown {
  readonly certificate: PeerCertificate;
  /** Why the certificate is not trusted. */
  readonly problem: string | undefined;
}

/** Checks the certificate of a node with an https URL. */
export async function checkTls(
  url: string,
  endpoint: "grpc" | "rest",
  config: Config,
  signal: AbortSignal,
): Promise<Finding | undefined> {
  if (new URL(url).protocol !== "https:") {
    return undefined;
  }
  const check = `TLS ${url}`;
  const proxy = proxyFor(config.proxy, url);
  if (proxy !== undefined) {
    return { check, state: "ok", finding: `not shown through the proxy ${proxyName(proxy)}; each call verifies it` };
  }
  const limit = AbortSignal.any([signal, timeoutSignal(config.timeouts.connectMs)]);
  try {
    return findingOf(check, await shownBy(url, config[endpoint]?.tls ?? {}, limit));
  } catch (reason) {
    signal.throwIfAborted();
    const why = limit.aborted ? "no response in time" : reason instanceof Error ? reason.message : String(reason);
    return {
      check,
      state: "failure",
      finding: why,
      advice: "Check the URL, and that the server speaks TLS on this port.",
    };
  }
}

type Tls = NonNullable<NonNullable<Config["grpc"]>["tls"]>;

async function shownBy(url: string, { ca, caFile, serverName }: Tls, signal: AbortSignal): Promise<Shown> {
  const { hostname, port } = new URL(url);
  const own = typeof ca === "function" ? await ca() : ca;
  const authorities = caFile === undefined ? own : await readFile(caFile, { encoding: "utf8", signal });
  const host = hostname.replace(/^\[|\]$/g, "");
  const socket = connect({
    host,
    port: Number(port || 443),
    tls: {
      // An address is no server name, but may be in the certificate.
      ...((serverName !== undefined || isIP(host) === 0) && { servername: serverName ?? host }),
      ALPNProtocols: ["h2", "http/1.1"],
      ...(authorities !== undefined && { ca: authorities }),
      // The certificate is only looked at: nothing is sent, and an untrusted one is what the check is for.
      rejectUnauthorized: false,
    },
  });
  try {
    await once(socket, "secureConnect", { signal });
    if (!(socket instanceof TLSSocket)) {
      throw new TypeError("the socket does not use TLS");
    }
    const { authorized, authorizationError } = socket;
    return { certificate: socket.getPeerCertificate(), problem: authorized ? undefined : String(authorizationError) };
  } finally {
    socket.destroy();
  }
}

function findingOf(check: string, { certificate, problem }: Shown): Finding {
  const until = new Date(certificate.valid_to);
  const leftMs = until.getTime() - unixMs();
  const date = until.toISOString().slice(0, 10);
  if (leftMs < 0) {
    const advice = "Ask the server's operator to renew the certificate, and check the clock of this machine.";
    return { check, state: "failure", finding: `the certificate expired on ${date}`, advice };
  }
  if (problem !== undefined) {
    const advice = "If you trust the server, set --ca-file to the file of its certificate authority.";
    return { check, state: "failure", finding: `the certificate is not trusted: ${problem}`, advice };
  }
  if (leftMs < EXPIRES_SOON_MS) {
    return { check, state: "warning", finding: `the certificate expires on ${date}`, advice: "Renew it soon." };
  }
  return { check, state: "ok", finding: `the certificate is trusted, and expires on ${date}` };
}
