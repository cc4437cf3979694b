import type { DescService } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { TradingDataService } from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "../../gen/client/vega/api/v1/core_pb.js";
import type { Config } from "../config/config-schema.js";
import { ConnectionError, NodeError, ProtocolError, type TradewireError } from "../errors/index.js";
import { type DataNodeLag, measureLag } from "../history/data-node-lag.js";
import { isChainId } from "../input/assert.js";
import type { CallOptions } from "../input/call-options.js";
import { monotonicMs, startTimer } from "../runtime/index.js";
import { raceAbort } from "../signal/abort.js";
import type { Hooks } from "../transport/hooks.js";
import type { NodeGate } from "../transport/layers/fallback.js";
import { callError } from "../transport/layers/library-errors.js";
import { methodName } from "../transport/method.js";
import { createServiceClient } from "../transport/service-client.js";
import type { OpenNode } from "../transport/transport.js";

/** How a node answers, and how it compares with the others. */
export interface NodeStatus {
  /** Its name in hooks and errors: that of its transport, and the URL if the transport has several nodes. */
  readonly name: string;
  /** The URL; absent for a custom transport. */
  readonly url?: string;
  /**
   * - `usable`: calls may go to it.
   * - `unreachable`: it did not answer; see `error`.
   * - `other chain`: its chain is not that of the configuration or, without one, of the first node that answered.
   * - `behind`: it is more than `fallback.maxLagBlocks` behind the others, or its data node is behind its core.
   * - `unchecked`: it does not say which chain and height it has; see `error`. Calls may go to it.
   */
  readonly state: "usable" | "unreachable" | "other chain" | "behind" | "unchecked";
  /** Why calls do not go to it; absent if they may. */
  readonly refusal?: string;
  readonly chainId?: string;
  /** The height of its last block. */
  readonly height?: bigint;
  /** How many blocks it is behind the node that the others are compared with. */
  readonly behindBlocks?: number;
  /** How its data node compares with its core; absent if it could not be compared. */
  readonly lag?: DataNodeLag;
  /** The time that a call took, in milliseconds. */
  readonly latencyMs?: number;
  /** The version of its data node, as it reports it. */
  readonly version?: string;
  readonly error?: TradewireError;
}

/** What the last check of a node found. */
type Health =
  | {
      readonly kind: "answered";
      readonly chainId: string;
      readonly height: bigint;
      readonly lag: DataNodeLag | undefined;
      readonly latencyMs: number;
    }
  | { readonly kind: "unchecked" | "unreachable"; readonly error: TradewireError; readonly at: number };

/** What is wrong with a node. */
interface Verdict {
  readonly state: "other chain" | "behind";
  readonly refusal: string;
}

/** The nodes of a client: which of them may be used, and how each answers. */
export interface Nodes extends NodeGate {
  /** Checks all nodes, and returns what was found. */
  status(options: CallOptions): Promise<NodeStatus[]>;
}

/** The time after which nodes are checked again, in milliseconds, if calls are made. */
const CHECK_EVERY_MS = 5000;

/** The time limit of a check, in milliseconds. */
const CHECK_MS = 5000;

/** How long the first call waits for the heights of all nodes, in milliseconds. */
const FIRST_CHECK_MS = 1000;

/** How long a node counts as unreachable without another attempt, in milliseconds. */
const UNREACHABLE_MS = 1000;

/**
 * Watches the nodes of a client. They are checked with the first call, and every five seconds in which calls are made. None
 * is used before it was checked: one of another chain would answer, with the state of another network. Heights are compared
 * with the second highest if there are three nodes or more, so that one node that claims too much excludes no other.
 *
 * @param nodes the nodes, the preferred one first
 * @param config the chain, and how far a node may be behind
 * @param hooks `onNodeChange` is called when a node is no longer used, and when it is again
 * @returns the nodes
 */
export function watchNodes(
  nodes: readonly OpenNode[],
  { chainId, fallback: { maxLagBlocks } }: Pick<Config, "chainId" | "fallback">,
  { onNodeChange }: Pick<Hooks, "onNodeChange">,
): Nodes {
  const healths = new Map<string, Health>();
  const checks = new Map<string, Promise<Health>>();
  const verdicts = new Map<string, Verdict>();
  let expectedChain = chainId;
  let round: Promise<void> | undefined;
  let roundAt = Number.NEGATIVE_INFINITY;
  let firstRound: Promise<unknown> | undefined;

  function check(node: OpenNode): Promise<Health> {
    const running = checks.get(node.name);
    if (running !== undefined) {
      return running;
    }
    const started = checkNode(node).then((health) => {
      checks.delete(node.name);
      // A node that answers something else for once is still what it was.
      const isKept = health.kind === "unchecked" && healths.get(node.name)?.kind === "answered";
      if (!isKept) {
        healths.set(node.name, health);
      }
      return health;
    });
    checks.set(node.name, started);
    return started;
  }

  function startRound(): Promise<void> {
    roundAt = monotonicMs();
    round ??= Promise.all(nodes.map(check)).then(() => {
      round = undefined;
      judge();
    });
    return round;
  }

  function answeredNodes() {
    return nodes.flatMap(({ name, url }) => {
      const health = healths.get(name);
      return health?.kind === "answered" ? [{ name, url, ...health }] : [];
    });
  }

  /** Returns the height that nodes are compared with. */
  const bestHeight = () => comparedHeight(answeredNodes().filter((node) => node.chainId === expectedChain));

  /** Compares all nodes that have answered. */
  function judge(): void {
    const answered = answeredNodes();
    expectedChain ??= answered[0]?.chainId;
    const best = bestHeight();
    for (const node of answered) {
      const verdict = verdictOn(node, best);
      const before = verdicts.get(node.name)?.refusal;
      if (verdict === undefined) {
        verdicts.delete(node.name);
      } else {
        verdicts.set(node.name, verdict);
      }
      if ((before === undefined) !== (verdict === undefined)) {
        const { name, url } = node;
        onNodeChange?.({ name, ...(url !== undefined && { url }), ...(verdict && { refusal: verdict.refusal }) });
      }
    }
  }

  function verdictOn(node: { chainId: string; height: bigint; lag: DataNodeLag | undefined }, best: bigint) {
    if (node.chainId !== expectedChain) {
      const refusal = `it is on the chain ${node.chainId}, not on ${expectedChain}`;
      return { state: "other chain", refusal } satisfies Verdict;
    }
    if (best - node.height > maxLagBlocks) {
      return { state: "behind", refusal: `it is ${best - node.height} blocks behind` } satisfies Verdict;
    }
    if (node.lag?.state === "lagging") {
      const seconds = Math.round((node.lag.behindCoreMs ?? 0) / 1000);
      return { state: "behind", refusal: `its data node is ${seconds} s behind its core` } satisfies Verdict;
    }
    return undefined;
  }

  async function firstHeights(): Promise<void> {
    let stop = () => {};
    const late = new Promise<void>((resolve) => {
      stop = startTimer(resolve, FIRST_CHECK_MS);
    });
    await Promise.race([startRound(), late]);
    stop();
    judge();
  }

  function nodeOf(name: string): OpenNode {
    const node = nodes.find((each) => each.name === name);
    if (node === undefined) {
      throw new Error(`there is no node ${name}`);
    }
    return node;
  }

  async function healthOf(name: string): Promise<Health> {
    const health = healths.get(name);
    const isOld = health?.kind === "unreachable" && monotonicMs() - health.at > UNREACHABLE_MS;
    return health === undefined || isOld ? await check(nodeOf(name)) : health;
  }

  return {
    async refusal(name, signal) {
      firstRound ??= firstHeights();
      await raceAbort(firstRound, signal);
      if (monotonicMs() - roundAt > CHECK_EVERY_MS) {
        void startRound();
      }
      const health = await raceAbort(healthOf(name), signal);
      if (health.kind === "unreachable") {
        throw health.error;
      }
      if (!verdicts.has(name) && health.kind === "answered" && health.chainId !== expectedChain) {
        judge();
      }
      return verdicts.get(name)?.refusal;
    },

    onLost: (name) => {
      healths.delete(name);
    },

    hasAnswered: (name) => healths.get(name)?.kind === "answered",

    async status({ signal, timeoutMs }) {
      const checked = startRound();
      firstRound ??= checked;
      const [versions] = await raceAbort(
        Promise.all([Promise.all(nodes.map((node) => versionOf(node, signal, timeoutMs))), checked]),
        signal,
      );
      const best = bestHeight();
      return nodes.map(({ name, url }, at): NodeStatus => {
        const health = healths.get(name);
        const version = versions[at];
        const shared = { name, ...(url !== undefined && { url }), ...(version !== undefined && { version }) };
        if (health?.kind !== "answered") {
          const { kind = "unreachable", error } = health ?? {};
          return { ...shared, state: kind, ...(error && { error }) };
        }
        const { kind: _, lag, ...answered } = health;
        const behind = best - health.height;
        return {
          ...shared,
          ...answered,
          ...(lag && { lag }),
          ...(health.chainId === expectedChain && { behindBlocks: behind > 0n ? Number(behind) : 0 }),
          state: "usable",
          ...verdicts.get(name),
        };
      });
    },
  };
}

/** Returns the height that nodes are compared with; 0 without any. */
function comparedHeight(nodes: readonly { readonly height: bigint }[]): bigint {
  const heights = nodes.map(({ height }) => height).sort((a, b) => (a < b ? 1 : a > b ? -1 : 0));
  return heights[heights.length >= 3 ? 1 : 0] ?? 0n;
}

/** Asks a node for its chain, its height and how its data node lags. Never throws. */
async function checkNode(node: OpenNode): Promise<Health> {
  const core = serviceOf(node, CoreService);
  const options = { timeoutMs: CHECK_MS };
  const startedAt = monotonicMs();
  try {
    const { chainId, height } = await core.lastBlockHeight({}, options);
    const latencyMs = monotonicMs() - startedAt;
    if (!isChainId(chainId)) {
      throw new ProtocolError("the node's chain has no valid identifier", { advice: "Check the node.", notes: [] });
    }
    const data = serviceOf(node, TradingDataService);
    const lag = await measureLag({ core, data }, options).catch(() => undefined);
    return { kind: "answered", chainId, height, lag, latencyMs };
  } catch (reason) {
    const error = errorOf(reason, node, methodName(CoreService.method.lastBlockHeight));
    const isUnreachable =
      error instanceof ConnectionError || (error instanceof NodeError && error.code === Code.Unavailable);
    return { kind: isUnreachable ? "unreachable" : "unchecked", error, at: monotonicMs() };
  }
}

async function versionOf(node: OpenNode, signal: AbortSignal | undefined, timeoutMs = CHECK_MS) {
  const info = serviceOf(node, TradingDataService).info(
    {},
    { ...(signal && { signal }), timeoutMs: Math.min(timeoutMs, CHECK_MS) },
  );
  return await info.then(
    ({ version }) => version,
    () => undefined,
  );
}

function serviceOf<S extends DescService>(node: OpenNode, service: S) {
  return createServiceClient(service, node.transport, (method) => (reason) => {
    throw errorOf(reason, node, methodName(method));
  });
}

const errorOf = (reason: unknown, { name, url = name }: OpenNode, method: string) =>
  callError(reason, { transport: name, url, method });
