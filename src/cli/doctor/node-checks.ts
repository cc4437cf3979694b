import { CoreService } from "../../../gen/client/vega/api/v1/core_pb.js";
import { TradewireError } from "../../base/errors/index.js";
import { type Client, type Config, createClient, type LoadedConfig, type NodeStatus } from "../../index.js";
import { transportsOf, urlsOf } from "../../wire/config/config-schema.js";
import { staysOnLoopback } from "../../wire/config/loopback.js";
import { proxyFor, proxyName } from "../../wire/config/proxy.js";
import { originOf } from "../config-origins.js";
import type { Finding } from "./finding.js";
import { checkProfile } from "./profile-check.js";
import { checkTls } from "./tls-check.js";

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

/** A URL of the configuration, and the part that has it. */
interface Place {
  readonly url: string;
  readonly endpoint: "grpc" | "rest";
}

function placesOf({ transport, grpc, rest }: Config): Place[] {
  const endpoints = new Set(transportsOf(transport).map((each) => (each === "rest" ? "rest" : "grpc")));
  return [...endpoints].flatMap((endpoint) =>
    urlsOf(endpoint === "rest" ? rest : grpc).map((url) => ({ url, endpoint })),
  );
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

/** Checks how many calls the node still accepts. */
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
