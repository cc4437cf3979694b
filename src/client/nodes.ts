import type { DescService } from "@bufbuild/protobuf";
import { createContextValues } from "@connectrpc/connect";
import { TradingDataService } from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "../../gen/client/vega/api/v1/core_pb.js";
import { Code } from "../base/errors/code.js";
import { ConnectionError, ProtocolError, RequestError, type TradewireError } from "../base/errors/index.js";
import { failureKind, wasNeverSent } from "../base/errors/reaction.js";
import { isChainId } from "../base/input/assert.js";
import type { CallOptions } from "../base/input/call-options.js";
import { monotonicMs } from "../base/runtime/index.js";
import { raceAbort } from "../base/signal/abort.js";
import { atMost } from "../base/signal/wait.js";
import { type DataNodeLag, measureLag } from "../data/history/data-node-lag.js";
import { requireChain } from "../trade/transaction/signing-chain.js";
import type { Config } from "../wire/config/config-schema.js";
import { isUrgentKey } from "../wire/transport/call-context.js";
import type { Hooks } from "../wire/transport/hooks.js";
import type { NodeGate } from "../wire/transport/layers/fallback.js";
import { callError, endedInOwnWait } from "../wire/transport/library-errors.js";
import { methodName } from "../wire/transport/method.js";
import { createServiceClient } from "../wire/transport/service-client.js";
import type { OpenNode } from "../wire/transport/transport.js";

/** The state of a node, and how it compares with the others. */
export interface NodeStatus {
  /** Its name in hooks and errors: the name of its transport, plus the URL if the transport has several nodes. */
  readonly name: string;
  /** The URL; absent for a custom transport. */
  readonly url?: string;
  /**
   * - `usable`: calls may go to it.
   * - `unreachable`: it did not answer; see `error`.
   * - `failing`: it answered the check with an error, or with a chain that has no valid identifier; see `error`.
   * - `other chain`: its chain is not that of the configuration or, without one, of the first node that answered.
   * - `behind`: it is more than `fallback.maxLagBlocks` behind the others, or its data node is behind its core.
   * - `unchecked`: it does not offer the method that returns its chain and height; see `error`. Calls may go to it.
   */
  readonly state: "usable" | "unreachable" | "failing" | "other chain" | "behind" | "unchecked";
  /** Why calls do not go to it, for `other chain` and `behind`. */
  readonly refusal?: string;
  readonly chainId?: string;
  /** The height of its last block. */
  readonly height?: bigint;
  /** The number of blocks by which it lags the reference node. */
  readonly behindBlocks?: number;
  /** How its data node compares with its core; absent if it could not be compared. */
  readonly lag?: DataNodeLag;
  /** The time that a call took, in milliseconds. */
  readonly latencyMs?: number;
  /** The version of its data node, as it reports it. */
  readonly version?: string;
  readonly error?: TradewireError;
}

interface Answer {
  readonly chainId: string;
  readonly height: bigint;
  readonly lag: DataNodeLag | undefined;
  readonly latencyMs: number;
}

/** The result of the last check of a node, at a time by `monotonicMs()`. */
type Health =
  /** `hasFailedOnce`: the next check failed. A second failure in a row counts. */
  | { readonly kind: "answered"; readonly answer: Answer; readonly at: number; readonly hasFailedOnce: boolean }
  | {
      readonly kind: "unchecked" | "failing" | "unreachable";
      readonly error: TradewireError;
      readonly at: number;
    };

interface Verdict {
  readonly state: "other chain" | "behind";
  readonly refusal: string;
}

/** A node, and what is known about it. */
interface WatchedNode {
  readonly node: OpenNode;
  /** `undefined` until it was checked, and again once its connection was lost. */
  health: Health | undefined;
  /** The check in progress. */
  check: Promise<Health> | undefined;
  verdict: Verdict | undefined;
}

/** The nodes of a client: which of them may be used, and the state of each. */
export interface Nodes extends NodeGate {
  /** Checks all nodes, and returns their states. */
  status(options: CallOptions): Promise<NodeStatus[]>;
}

/** The time after which nodes are checked again, in milliseconds, if calls are made. */
const CHECK_EVERY_MS = 5000;

/** The time limit of a check, in milliseconds. */
const CHECK_MS = 5000;

/** How long the first call waits for the heights of all nodes, in milliseconds. */
const FIRST_CHECK_MS = 1000;

/** How long a node whose check failed is not checked again, in milliseconds. */
const FAILED_MS = 1000;

/**
 * Watches the nodes of a client. They are checked with the first call, and then at most every five seconds while calls are made.
 * No node is used before it was checked, because a node of another chain would respond with the state of another network. Heights
 * are compared with the second highest if at least three nodes have answered, so that one node that claims too many blocks does
 * not exclude the others.
 */
export function watchNodes(
  nodes: readonly OpenNode[],
  {
    chainId,
    fallback: { maxLagBlocks },
    isOneNode,
  }: Pick<Config, "chainId" | "fallback"> & { readonly isOneNode: boolean },
  { onNodeChange }: Pick<Hooks, "onNodeChange">,
): Nodes {
  const all = nodes.map((node): WatchedNode => ({ node, health: undefined, check: undefined, verdict: undefined }));
  const byName = new Map(all.map((watched) => [watched.node.name, watched]));
  let expectedChain = chainId;
  let round: Promise<PromiseSettledResult<Health>[]> | undefined;
  let roundAt = Number.NEGATIVE_INFINITY;
  let firstRound: Promise<unknown> | undefined;
  /** Whether the first call has waited for the other nodes: before, a single answer would stand for all. */
  let isComparing = false;

  function check(watched: WatchedNode, measuresLag = true): Promise<Health> {
    watched.check ??= checkNode(watched.node, measuresLag)
      .then((found) => {
        const health = healthAfter(watched.health, found);
        watched.health = health;
        if (isComparing) {
          compare();
        }
        return health;
      })
      .finally(() => {
        watched.check = undefined;
      });
    return watched.check;
  }

  function startRound(): Promise<PromiseSettledResult<Health>[]> {
    if (round === undefined) {
      roundAt = monotonicMs();
      round = Promise.allSettled(all.map((watched) => check(watched))).finally(() => {
        round = undefined;
      });
    }
    return round;
  }

  const answers = () => all.flatMap(({ health }) => (health?.kind === "answered" ? [health.answer] : []));

  /** Returns the height that nodes are compared with. */
  const bestHeight = () => comparedHeight(answers().filter((answer) => answer.chainId === expectedChain));

  /** Compares the nodes that were checked in the latest round or after it. The others have made blocks since. */
  function compare(): void {
    isComparing = true;
    expectedChain ??= answers()[0]?.chainId;
    const best = bestHeight();
    for (const watched of all) {
      const { health } = watched;
      if (health !== undefined && health.at >= roundAt) {
        if (health.kind === "answered") {
          setVerdict(watched, verdictOn(health.answer, { best, chainId: expectedChain, maxLagBlocks }));
        } else if (health.kind === "unchecked") {
          setVerdict(watched, undefined);
        }
      }
    }
  }

  function setVerdict(watched: WatchedNode, verdict: Verdict | undefined): void {
    const before = watched.verdict;
    watched.verdict = verdict;
    if ((before === undefined) !== (verdict === undefined)) {
      const { name, url } = watched.node;
      onNodeChange?.({ name, ...(url !== undefined && { url }), ...(verdict && { refusal: verdict.refusal }) });
    }
  }

  function watchedOf(name: string): WatchedNode {
    const watched = byName.get(name);
    if (watched === undefined) {
      throw new Error(`unknown node ${name}`);
    }
    return watched;
  }

  /** Waits for the first heights of all nodes, and compares those that have arrived. */
  async function awaitFirstRound(signal: AbortSignal | undefined, limitMs: number | undefined): Promise<void> {
    firstRound ??= atMost(startRound(), FIRST_CHECK_MS);
    await raceAbort(atMost(firstRound, limitMs), signal);
    compare();
  }

  /**
   * Throws if the only node cannot be reached, or is on another chain than the configuration. If its check fails otherwise, calls
   * go to it, since nothing else could serve them, and the next check does not delay them.
   */
  async function checkOnly(
    watched: WatchedNode,
    signal: AbortSignal | undefined,
    limitMs: number | undefined,
  ): Promise<void> {
    const { health: before } = watched;
    if (before === undefined || needsCheck(before, chainId)) {
      const checked = check(watched, false);
      const isAwaited = before === undefined || before.kind === "answered" || wasNeverSent(before.error);
      if (isAwaited) {
        await raceAbort(atMost(checked, limitMs), signal);
      } else {
        checked.catch(() => undefined);
      }
    }
    const { health } = watched;
    if (health?.kind === "answered") {
      requireChain(health.answer.chainId, chainId);
    } else if (health !== undefined && wasNeverSent(health.error)) {
      throw health.error;
    }
  }

  return {
    async refusal(name, signal, limitMs) {
      const watched = watchedOf(name);
      if (isOneNode) {
        await checkOnly(watched, signal, limitMs);
        return undefined;
      }
      const endsAt = limitMs === undefined ? undefined : monotonicMs() + limitMs;
      if (!isComparing) {
        await awaitFirstRound(signal, limitMs && limitMs / 2);
      }
      if (monotonicMs() - roundAt > CHECK_EVERY_MS) {
        void startRound();
      }
      let { health } = watched;
      if (health === undefined || needsCheck(health)) {
        const leftMs = endsAt && Math.max(Math.ceil(endsAt - monotonicMs()), 1);
        health = await raceAbort(atMost(check(watched), leftMs), signal);
      }
      switch (health?.kind) {
        case undefined:
          throw unansweredCheck(watched.node);
        case "failing":
        case "unreachable":
          throw health.error;
        case "unchecked":
        case "answered":
          return watched.verdict?.refusal;
      }
    },

    onLost(name) {
      watchedOf(name).health = undefined;
    },

    lacksCheck(name) {
      const { health } = watchedOf(name);
      return health?.kind === "unchecked" && failureKind(health.error) === "node: not found";
    },

    hasAnswered: (name) => watchedOf(name).health?.kind === "answered",

    async status({ signal, timeoutMs }) {
      const [checks, versions] = await raceAbort(
        Promise.all([startRound(), Promise.all(nodes.map((node) => versionOf(node, signal, timeoutMs)))]),
        signal,
      );
      for (const check of checks) {
        if (check.status === "rejected") {
          throw check.reason;
        }
      }
      compare();
      const best = bestHeight();
      return all.map(({ node: { name, url }, health, verdict }, at): NodeStatus => {
        const version = versions[at];
        const shared = { name, ...(url !== undefined && { url }), ...(version !== undefined && { version }) };
        if (health?.kind !== "answered") {
          const { kind = "unreachable", error } = health ?? {};
          return { ...shared, state: kind, ...(error && { error }) };
        }
        const { lag, ...answer } = health.answer;
        const behind = best - answer.height;
        return {
          ...shared,
          ...answer,
          ...(lag && { lag }),
          ...(answer.chainId === expectedChain && { behindBlocks: behind > 0n ? Number(behind) : 0 }),
          state: "usable",
          ...verdict,
        };
      });
    },
  };
}

/**
 * Returns what is known about a node after a check. A node that fails a check once is still what it was, and so is one whose
 * check was not sent, since it waited in this client.
 */
function healthAfter(before: Health | undefined, found: Health): Health {
  if (before !== undefined && found.kind === "unreachable" && endedInOwnWait(found.error)) {
    return before;
  }
  const mayPass = found.kind === "unchecked" || (found.kind === "failing" && !(found.error instanceof ProtocolError));
  return mayPass && before?.kind === "answered" && !before.hasFailedOnce ? { ...before, hasFailedOnce: true } : found;
}

/** Returns the problem with a node that has answered, compared with what the other nodes say. */
function verdictOn(
  { chainId, height, lag }: Answer,
  expected: { readonly best: bigint; readonly chainId: string | undefined; readonly maxLagBlocks: number },
): Verdict | undefined {
  if (chainId !== expected.chainId) {
    return { state: "other chain", refusal: `it is on chain ${chainId}, not on ${expected.chainId}` };
  }
  const behind = expected.best - height;
  if (behind > expected.maxLagBlocks) {
    return { state: "behind", refusal: `it is ${behind} blocks behind` };
  }
  if (lag?.state === "lagging") {
    const seconds = Math.round((lag.behindCoreMs ?? 0) / 1000);
    return { state: "behind", refusal: `its data node lags its core by ${seconds} s` };
  }
  return undefined;
}

/**
 * Returns whether a node must be checked before it is used: its last check failed, or had another chain than the expected one, and
 * not just now.
 */
function needsCheck(health: Health, expectedChain?: string): boolean {
  const { kind, at } = health;
  const isOther = kind === "answered" && expectedChain !== undefined && health.answer.chainId !== expectedChain;
  return (kind === "failing" || kind === "unreachable" || isOther) && monotonicMs() - at > FAILED_MS;
}

/** Returns the height that nodes are compared with; 0 without any. */
function comparedHeight(nodes: readonly { readonly height: bigint }[]): bigint {
  const heights = nodes.map(({ height }) => height).sort((a, b) => (a < b ? 1 : a > b ? -1 : 0));
  return heights[heights.length >= 3 ? 1 : 0] ?? 0n;
}

/**
 * Asks a node for its chain, its height and how its data node lags.
 *
 * @throws {@link RequestError} if the caller's own function for headers fails; the node is not to blame for it
 */
async function checkNode(node: OpenNode, measuresLag: boolean): Promise<Health> {
  const core = serviceOf(node, CoreService);
  const startedAt = monotonicMs();
  const options = () => ({ timeoutMs: Math.max(Math.ceil(startedAt + CHECK_MS - monotonicMs()), 1) });
  try {
    const { chainId, height } = await core.lastBlockHeight(
      {},
      { ...options(), contextValues: createContextValues().set(isUrgentKey, true) },
    );
    const latencyMs = Math.round((monotonicMs() - startedAt) * 10) / 10;
    if (!isChainId(chainId)) {
      throw new ProtocolError("the node has an invalid chain ID", { advice: "Check the node.", notes: [] });
    }
    const data = serviceOf(node, TradingDataService);
    const lag = measuresLag ? await measureLag({ core, data }, options()).catch(() => undefined) : undefined;
    return { kind: "answered", answer: { chainId, height, lag, latencyMs }, at: monotonicMs(), hasFailedOnce: false };
  } catch (reason) {
    const error = errorOf(reason, node, methodName(CoreService.method.lastBlockHeight));
    if (error instanceof RequestError) {
      throw error;
    }
    return { kind: kindOf(error), error, at: monotonicMs() };
  }
}

function kindOf(error: TradewireError): "unchecked" | "failing" | "unreachable" {
  switch (failureKind(error)) {
    case "node: unimplemented":
    case "node: not found": // So answers a gateway for a path that it does not have.
    case "answer: foreign":
      return "unchecked";
    case "node: unavailable":
      return "unreachable";
    default:
      return error instanceof ConnectionError ? "unreachable" : "failing";
  }
}

/** Returns the error of a node that has not answered its check within a call's share of time. */
function unansweredCheck({ name }: OpenNode): ConnectionError {
  return new ConnectionError(`${name} did not respond to its check in time`, {
    code: Code.DeadlineExceeded,
    advice: "Nothing was sent. Check why the node is slow, or allow more time.",
    connected: false,
  });
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
