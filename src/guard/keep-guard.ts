import { createHash } from "node:crypto";
import { TradingDataService } from "../../gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "../../gen/vega/api/v1/core_pb.js";
import type { StopOrdersSubmission } from "../../gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "../../gen/vega/commands/v1/transaction_pb.js";
import { PolicyError, RequestError, TradewireError } from "../errors/index.js";
import { invalidValueError } from "../input/assert.js";
import { parseDecimal } from "../market/decimal.js";
import { monotonicMs, startTimer } from "../runtime/index.js";
import { linkedController } from "../signal/abort.js";
import { wait } from "../signal/wait.js";
import { commandIdentifiers } from "../transaction/command-identifiers.js";
import { readCommand } from "../transaction/input-data.js";
import { type Effects, evaluate } from "./evaluate.js";
import type { MarketLimits, Observed, SignedTransaction, UnseenPart } from "./guard-state.js";
import { type Guard, type GuardServices, type GuardSettings, validateMode } from "./guard-types.js";
import { killSwitch } from "./kill.js";
import { readMessage } from "./message.js";
import { lookAtNode, type ObservedCalls } from "./observe-node.js";
import type { GuardMode, MarketPolicy } from "./policy.js";

/** The time between two looks at the node, in milliseconds. */
const LOOK_EVERY_MS = 500;
/** The maximum time of one look, in milliseconds. */
const LOOK_MS = 10_000;
/** For how long what the node showed may be used, in milliseconds. */
const MAX_AGE_MS = 10_000;
/** The maximum number of signed transactions that the network may still take. Cancellations are not counted. */
const MAX_SIGNED = 10_000;
const MINUTE_MS = 60_000;
/** How many blocks later than it was taken into a block a transaction may be executed, if its market reorders transactions. */
const DELAY_BLOCKS = 2;

/**
 * Runs a guard.
 *
 * @param services the calls of the node
 * @param settings the signer, the policy and the chain
 * @param starting ends the loading
 * @returns the guard, after its first look at the node
 */
export async function keepGuard(
  services: GuardServices,
  { signer, policy, chainId }: GuardSettings,
  starting: AbortSignal,
): Promise<Guard> {
  const { publicKey } = signer;
  const closing = linkedController(undefined);
  const limits = new Map<string, MarketLimits>();
  /** By the digest of the message: the same bytes are executed once at most (v0.78.0, `seenNonceRef` in core/pow/engine.go). */
  const signed = new Map<string, SignedTransaction & { readonly mode: GuardMode }>();
  let signedAt: readonly { readonly at: number; readonly orders: number }[] = [];
  let mode = policy.mode;
  let observed: { readonly state: Observed; readonly at: number } | undefined;
  let pastBlocks = 0;
  /** Why what the node showed cannot be used, once it is too old. */
  let whyUnknown = "the node has not shown the orders and positions yet";
  const calls: ObservedCalls = {
    data: services.service(TradingDataService),
    core: services.service(CoreService),
    records: services.records,
    lastBlockHeight: services.transactions.lastBlockHeight,
  };

  /** Loads the units of markets that the policy names; with `*`, of those with orders or positions too. */
  async function loadLimits(marketIds: Iterable<string>, signal: AbortSignal): Promise<void> {
    for (const marketId of marketIds) {
      const rules = limits.has(marketId) ? undefined : rulesOf(marketId);
      if (rules !== undefined) {
        const { price, size } = await services.marketUnits(marketId, { signal });
        limits.set(marketId, limitsIn(rules, price.decimals, size.decimals));
      }
    }
  }

  /** The network knows identifiers in lower case only. A node that knows others must not get an order past a market's own rules. */
  const rulesOf = (marketId: string): MarketPolicy | undefined => {
    const rules = Object.hasOwn(policy.markets, marketId) ? policy.markets[marketId] : policy.markets["*"];
    return marketId === marketId.toLowerCase() ? rules : undefined;
  };

  async function look(signal: AbortSignal): Promise<void> {
    const startedAt = monotonicMs();
    const shown = await lookAtNode(calls, publicKey, [...signed.values()], signal);
    pastBlocks = Math.max(pastBlocks, shown.pastBlocks);
    observed = { state: shown.observed, at: startedAt };
    whyUnknown = `the node has not shown the orders and positions for ${MAX_AGE_MS} ms`;
    for (const [digest, transaction] of signed) {
      transaction.parts = transaction.parts.filter((part) => !shown.settled.has(part));
      if (shown.over.has(transaction)) {
        signed.delete(digest);
      }
    }
  }

  async function lookWithin(): Promise<void> {
    const ending = linkedController(closing.signal);
    const stopTimer = startTimer(
      () => ending.abort(new DOMException(`${LOOK_MS} ms are over`, "TimeoutError")),
      LOOK_MS,
    );
    try {
      await look(ending.signal);
    } catch (reason) {
      const why = reason instanceof TradewireError ? reason.summary : "it failed";
      whyUnknown = `the orders and positions are not known: ${why}`;
    } finally {
      stopTimer();
      ending.abort();
    }
  }

  async function keepLooking(): Promise<void> {
    while (!closing.signal.aborted) {
      await wait(LOOK_EVERY_MS, closing.signal).catch(() => undefined);
      if (!closing.signal.aborted) {
        await lookWithin();
      }
    }
  }

  const unseen = (): UnseenPart[] => [...signed.values()].flatMap(({ parts }) => parts);

  function judge(command: InputData["command"]): Effects {
    requireOpen(closing.signal);
    const now = monotonicMs();
    const isFresh = observed !== undefined && now - observed.at <= MAX_AGE_MS;
    signedAt = signedAt.filter(({ at }) => now - at < MINUTE_MS);
    return evaluate(command, {
      policy,
      mode,
      observed: isFresh ? observed?.state : undefined,
      whyUnknown,
      unseen: unseen(),
      limitsOf: (marketId) => limits.get(marketId),
      signedInMinute: signedAt.reduce((sum, { orders }) => sum + orders, 0),
    });
  }

  /** Loads the markets of a command that are not known yet, which `*` allows. */
  async function prepare(command: InputData["command"]): Promise<void> {
    await loadLimits(marketsOf(command), closing.signal);
  }

  /** Counts what will be signed, before anything else can be checked. */
  function reserve(
    { command, blockHeight }: InputData,
    digest: string,
  ): SignedTransaction & { readonly mode: GuardMode } {
    const effects = judge(command);
    if (effects.orders > 0 && signed.size >= MAX_SIGNED) {
      throw new PolicyError({
        rule: "state",
        limit: String(MAX_SIGNED),
        value: String(signed.size),
        command: command.case,
        headline: `${signed.size} signed transactions may still be executed, which is the maximum`,
        advice: "Wait until the network has taken them. Nothing was signed.",
      });
    }
    const lastBlock = blockHeight + BigInt(pastBlocks + DELAY_BLOCKS);
    const entry = { lastBlock, parts: effects.parts, overSince: undefined, mode };
    signed.set(digest, entry);
    signedAt = effects.orders > 0 ? [...signedAt, { at: monotonicMs(), orders: effects.orders }] : signedAt;
    return entry;
  }

  const guard: Guard = {
    publicKey,
    get mode() {
      return mode;
    },
    setMode(next) {
      validateMode(next);
      mode = next;
    },
    async sign(message) {
      if (!(message instanceof Uint8Array)) {
        throw invalidValueError("message", message, "Give the bytes to sign.");
      }
      requireOpen(closing.signal);
      const bytes = Uint8Array.from(message); // Nobody can change them between the check and the signature.
      const inputData = readMessage(bytes, chainId);
      const digest = createHash("sha3-256").update(bytes).digest("hex");
      await prepare(inputData.command);
      const known = signed.get(digest);
      if (known !== undefined && known.mode === mode) {
        return signer.sign(bytes);
      }
      const entry = reserve(inputData, digest);
      // If the signer fails, what it was to sign stays counted: it may have signed.
      const signature = await signer.sign(bytes);
      nameParts(entry.parts, inputData.command, signature);
      return signature;
    },
    ...(signer.takeShare !== undefined && { takeShare: (block) => signer.takeShare?.(block) }),
    async check(command) {
      const inputData = readCommand(command);
      await prepare(inputData.command);
      judge(inputData.command);
    },
    async kill(options = {}) {
      mode = "halted";
      requireOpen(closing.signal);
      return killSwitch({
        options,
        closing: closing.signal,
        cancel: (command, signal) => services.sendCommand(command, { signer, chainId, signal, until: "executed" }),
        records: services.records,
        publicKey,
        look: lookWithin,
        unseen: () => unseen().filter(({ kind }) => kind !== "amendment").length,
      });
    },
    close,
    [Symbol.asyncDispose]: async () => close(),
  };

  function close(): void {
    closing.abort(new DOMException("the guard was closed", "AbortError"));
  }

  const beginning = linkedController(starting);
  try {
    await loadLimits(
      Object.keys(policy.markets).filter((marketId) => marketId !== "*"),
      beginning.signal,
    );
    await look(beginning.signal);
  } finally {
    beginning.abort();
  }
  void keepLooking();
  return Object.freeze(guard);
}

function limitsIn(rules: MarketPolicy, priceDecimals: number, sizeDecimals: number): MarketLimits {
  const { maxSize, maxNotional, maxPosition, maxDistance } = rules;
  return {
    priceDecimals,
    sizeDecimals,
    maxSize: floorDecimal(maxSize, sizeDecimals),
    maxNotional: floorDecimal(maxNotional, priceDecimals + sizeDecimals),
    maxPosition: floorDecimal(maxPosition, sizeDecimals),
    maxDistance: maxDistance === undefined ? undefined : fractionOf(maxDistance),
  };
}

/** A limit that lies between two units is the lower one. */
function floorDecimal(text: string, decimals: number): bigint {
  const fraction = text.split(".")[1] ?? "";
  const exact = parseDecimal(text, fraction.length);
  const shift = decimals - fraction.length;
  return shift >= 0 ? exact * 10n ** BigInt(shift) : exact / 10n ** BigInt(-shift);
}

function fractionOf(text: string): readonly [bigint, bigint] {
  const digits = (text.split(".")[1] ?? "").length;
  return [parseDecimal(text, digits), 10n ** BigInt(digits)];
}

/** The markets whose rules a command needs. */
function marketsOf(command: InputData["command"]): Set<string> {
  const ofStops = ({ risesAbove, fallsBelow }: StopOrdersSubmission) =>
    [risesAbove, fallsBelow].flatMap((setup) =>
      setup?.orderSubmission === undefined ? [] : [setup.orderSubmission.marketId],
    );
  switch (command.case) {
    case "orderSubmission":
    case "orderAmendment":
      return new Set([command.value.marketId]);
    case "stopOrdersSubmission":
      return new Set(ofStops(command.value));
    case "batchMarketInstructions": {
      const { amendments, submissions, stopOrdersSubmission } = command.value;
      const direct = [...amendments, ...submissions].map(({ marketId }) => marketId);
      return new Set([...direct, ...stopOrdersSubmission.flatMap(ofStops)]);
    }
    default:
      return new Set();
  }
}

/** Gives the parts of a transaction their identifiers, which are derived from its signature. */
function nameParts(parts: readonly UnseenPart[], command: InputData["command"], signature: Uint8Array): void {
  const { submissions, stopOrders } = commandIdentifiers(command, signature);
  for (const part of parts) {
    if (part.kind === "order") {
      part.id = submissions[part.index];
    } else if (part.kind === "stopOrder") {
      part.id = stopOrders[part.index]?.[part.half];
    }
  }
}

function requireOpen(closing: AbortSignal): void {
  if (closing.aborted) {
    throw new RequestError("the guard was closed", { advice: "Sign before close(). Nothing was signed." });
  }
}
