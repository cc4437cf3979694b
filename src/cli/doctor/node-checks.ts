import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { type PeerCertificate, TLSSocket } from "node:tls";
import { CoreService } from "../../../gen/client/vega/api/v1/core_pb.js";
import { TradewireError } from "../../base/errors/index.js";
import type { Profile } from "../../base/profile.js";
import { connect, timeoutSignal, unixMs } from "../../base/runtime/index.js";
import { parseCsvName } from "../../data/archive/index.js";
import { type Client, type Config, createClient, type LoadedConfig, type NodeStatus } from "../../index.js";
import { staysOnLoopback } from "../../wire/config/loopback.js";
import { proxyFor, proxyName } from "../../wire/config/proxy.js";
import { originOf, type Place, placesOf } from "../config-origins.js";

/**
 * The result of a check. A `failure` keeps commands from working; with a `warning` they work, but only for now or not fully.
 */
export interface Finding {
  /** The subject of the check, such as `TLS https://node.example`. */
  readonly check: string;
  readonly state: "ok" | "warning" | "failure";
  readonly finding: string;
  /** What to do. */
  readonly advice?: string | undefined;
}

export function failedCheck(check: string, { summary, advice }: TradewireError): Finding {
  return { check, state: "failure", finding: summary, ...(advice !== "" && { advice }) };
}

/**
 * Checks the nodes of a configuration: certificates, proxies, each transport, the chain, the profile, the clock and the rate
 * limit.
 */
export async function checkNodes(loaded: LoadedConfig, signal: AbortSignal): Promise<Finding[]> {
  const { config } = loaded;
  const places = placesOf(config);
  await using client = createClient(config);
  const [certificates, nodes] = await Promise.all([
    Promise.all(places.map(({ url, endpoint }) => checkTls(url, endpoint, config, signal))),
    client.status({ signal }),
  ]);
  const answering = nodes.find(({ state }) => state === "usable");
  return [
    ...checkProxies(places, config),
    ...certificates.flatMap((finding) => finding ?? []),
    ...nodes.map((node) => checkNode(node, answering !== undefined, loaded)),
    ...(answering === undefined
      ? []
      : [
          checkChain(answering, loaded),
          await checkProfile(client, loaded, signal),
          checkClock(answering),
          await checkRate(client, loaded, signal),
        ]),
  ];
}

function checkProxies(places: readonly Place[], { proxy }: Config): Finding[] {
  return places.flatMap(({ url }) => {
    const used = proxyFor(proxy, url);
    return used === undefined
      ? []
      : [{ check: `proxy ${url}`, state: "ok" as const, finding: `reached through ${proxyName(used)}` }];
  });
}

/** Checks how a node answers over one transport. Others may answer in its place. */
function checkNode(node: NodeStatus, isAnyUsable: boolean, loaded: LoadedConfig): Finding {
  const { name, url, state, refusal, error, height, latencyMs, version } = node;
  const check = url === undefined || name.includes(url) ? name : `${name} ${url}`;
  if (state === "usable") {
    const latency = latencyMs === undefined ? "" : `, ${Math.round(latencyMs)} ms`;
    return { check, state: "ok", finding: `height ${height}${latency}${version === undefined ? "" : `, ${version}`}` };
  }
  const origin = originOf(loaded, name.startsWith("rest") ? "rest.url" : "grpc.url");
  return {
    check,
    state: isAnyUsable ? "warning" : "failure",
    finding: `${state}: ${refusal ?? error?.summary ?? "unusable"} (the URL is set by ${origin})`,
    advice: isAnyUsable ? "Other nodes or transports are used instead." : adviceOn(node, loaded),
  };
}

function adviceOn({ state, chainId, error }: NodeStatus, loaded: LoadedConfig): string {
  return state === "other chain"
    ? `Use another node. If ${chainId} is the right chain, correct chainId, which is set by ${originOf(loaded, "chainId")}.`
    : (error?.advice ?? "Use another node.");
}

/** Checks the chain. A node on a different chain than the configured one is not usable, which `checkNode` reports. */
function checkChain({ chainId = "" }: NodeStatus, { config }: LoadedConfig): Finding {
  const check = "chain";
  if (config.chainId !== undefined) {
    return { check, state: "ok", finding: `${chainId}, as configured` };
  }
  return staysOnLoopback(config)
    ? { check, state: "ok", finding: `${chainId}; no chain is configured, and local nodes need none` }
    : {
        check,
        state: "warning",
        finding: `${chainId}; no chain is configured, so nothing is signed for this node`,
        advice:
          "If this is the right chain, set chainId in the configuration, or use --chain-id with commands that sign.",
      };
}

/** How far the time of the node's last block and this machine's clock may be apart, in milliseconds. */
const MAX_AHEAD_MS = 2000;
const MAX_BEHIND_MS = 10_000;

function checkClock({ lag }: NodeStatus): Finding {
  const check = "clock";
  if (lag === undefined) {
    return { check, state: "warning", finding: "the node did not report the time of its last block" };
  }
  const seconds = Math.abs(Math.round(lag.behindClockMs / 1000));
  if (lag.behindClockMs < -MAX_AHEAD_MS) {
    const advice = "Synchronize this machine's clock: signatures and limits depend on the time.";
    return { check, state: "failure", finding: `the node's last block is ${seconds} s in the future`, advice };
  }
  if (lag.behindClockMs > MAX_BEHIND_MS) {
    const advice =
      "Check this machine's clock. If it is correct, the node lags, the network makes no blocks, or it has its own clock, as a local node does.";
    return { check, state: "warning", finding: `the node's last block is ${seconds} s old`, advice };
  }
  return { check, state: "ok", finding: `the node's last block is ${seconds} s old by this machine's clock` };
}

async function checkRate(client: Client, { config }: LoadedConfig, signal: AbortSignal): Promise<Finding> {
  const check = "rate limit";
  let left: string | null = null;
  const onHeader = (headers: Headers) => {
    left ??= headers.get("ratelimit-remaining");
  };
  try {
    await client.service(CoreService).lastBlockHeight({}, { signal, onHeader, onTrailer: onHeader });
  } catch (reason) {
    if (!(reason instanceof TradewireError)) {
      throw reason;
    }
    return { check, state: "failure", finding: reason.summary, advice: reason.advice };
  }
  const own = config.limits.callsPerSecond;
  const limit = own === undefined ? "" : `; limits.callsPerSecond is ${own}`;
  const finding = left === null ? `the node reports no rate limit${limit}` : `${left} calls left${limit}`;
  return { check, state: "ok", finding };
}

/**
 * Compares the profile of the configuration with a node: it exports the newest segment of a small table, and looks at the
 * name of the first file, which only deployed nodes give a schema version.
 */
async function checkProfile(client: Client, loaded: LoadedConfig, signal: AbortSignal): Promise<Finding> {
  const check = "profile";
  const { profile } = loaded.config;
  const origin = originOf(loaded, "profile");
  const setting = `${profile} (${origin === "default" ? "the default" : `set by ${origin}`})`;
  let found: Profile | undefined;
  try {
    found = await profileOf(client, signal);
  } catch (reason) {
    if (!(reason instanceof TradewireError) || signal.aborted) {
      throw reason;
    }
    const finding = `${setting}; the node's behavior is unknown, because a test export failed: ${reason.summary}`;
    return { check, state: "warning", finding, advice: reason.advice };
  }
  if (found === undefined) {
    return { check, state: "ok", finding: `${setting}; the node has no history to compare it with` };
  }
  if (found === profile) {
    return { check, state: "ok", finding: `${setting}, as the node behaves` };
  }
  return {
    check,
    state: "failure",
    finding: `${setting}, but the node behaves as ${found}`,
    advice: `Use --profile ${found}, or set \`profile\` to "${found}" in the configuration. Otherwise exports or transactions can fail: differences.md in the documentation lists the differences.`,
  };
}

/** Returns the profile that a node follows; undefined if it has no history, or names files in another way. */
async function profileOf(client: Client, signal: AbortSignal): Promise<Profile | undefined> {
  const newest = (await client.listSegments({ signal })).at(-1);
  if (newest === undefined) {
    return undefined;
  }
  const request = { table: "markets", fromBlock: newest.fromHeight, toBlock: newest.toHeight } as const;
  for await (const { name } of client.exportNetworkHistory(request, { extensions: "optional", signal }).files()) {
    const parts = parseCsvName(name);
    return parts && (parts.schemaVersion === undefined ? "specification" : "deployed");
  }
  return undefined;
}

/** A certificate that expires within this time causes a warning, in milliseconds. */
const EXPIRES_SOON_MS = 14 * 24 * 60 * 60 * 1000;

interface ShownCertificate {
  readonly certificate: PeerCertificate;
  /** Why the certificate is not trusted. */
  readonly problem: string | undefined;
}

async function checkTls(
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
    return findingOnCertificate(check, await shownBy(url, config[endpoint]?.tls ?? {}, limit));
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

async function shownBy(url: string, { ca, caFile, serverName }: Tls, signal: AbortSignal): Promise<ShownCertificate> {
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

function findingOnCertificate(check: string, { certificate, problem }: ShownCertificate): Finding {
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
