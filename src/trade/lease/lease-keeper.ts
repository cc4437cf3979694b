import { create } from "@bufbuild/protobuf";
import { CoreService } from "../../../gen/client/vega/api/v1/core_pb.js";
import { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { type OrderSubmission, OrderSubmissionSchema } from "../../../gen/vega/commands/v1/commands_pb.js";
import { Order_TimeInForce, Order_Type } from "../../../gen/vega/vega_pb.js";
import { RequestError } from "../../base/errors/index.js";
import { assertObject } from "../../base/input/assert.js";
import type { CallOptions } from "../../base/input/call-options.js";
import { MAX_TIMER_MS, monotonicMs } from "../../base/runtime/index.js";
import { linkedController, onAbort, raceAbort } from "../../base/signal/abort.js";
import { followBlocks } from "../live/follow-blocks.js";
import type { Outcome } from "../live/transaction-outcome.js";
import type { Accounts } from "../market/account.js";
import { remainingMs, withTimeout } from "../transaction/deadline.js";
import { type CommandSource, readCommand } from "../transaction/input-data.js";
import { TIMEOUT_MS } from "../transaction/transactions.js";
import { coverageOf, type LeaseCoverage } from "./coverage.js";
import { adoptStop, followAccount } from "./follow-account.js";
import { keepRenewing } from "./keep-renewing.js";
import type { LeaseEvent, LeaseSettings } from "./lease-options.js";
import { applyStopOrder } from "./lease-results.js";
import { createLeaseSender, type SendingServices, type SentBatch } from "./lease-sender.js";
import { createLimits } from "./lease-services.js";
import { createLeaseState, type LeaseState, type LeaseTrigger } from "./lease-state.js";
import { isOpening, type LeaseBatch, planOpening } from "./renewal-plan.js";

/** The services of the client that leases need. */
export interface LeaseServices extends SendingServices {
  readonly accounts: Accounts;
  /** Aborted when the client is closed. */
  readonly closing: AbortSignal;
}

/** A leased order that was submitted. */
export interface LeasedSubmission {
  /** The order's identifier, 64 hex digits. */
  readonly id: string;
  /** 64 hex digits in upper case. */
  readonly txHash: string;
  /** Its expiry, in Unix nanoseconds of the chain's time, unless it is renewed. */
  readonly expiresAt: bigint;
  /** Whether the network has placed the order. One that is placed may have traded already. */
  readonly status: "executed" | "failed" | "unknown";
  /** Why it failed or is unknown; `undefined` if it was executed. */
  readonly reason: string | undefined;
}

/** Options of ending leases. */
export interface ReleaseSettings {
  readonly orders: "cancel" | "expire";
  readonly positions: "close" | "keep";
}

/** The services that keep leases alive. */
export interface LeaseKeeper {
  submit(command: CommandSource, options: Pick<CallOptions, "signal" | "timeoutMs">): Promise<LeasedSubmission>;
  setTrigger(marketId: string, trigger: LeaseTrigger | undefined): void;
  release(settings: ReleaseSettings, options: Pick<CallOptions, "signal" | "timeoutMs">): Promise<readonly Outcome[]>;
  coverage(): LeaseCoverage;
}

/** The maximum number of leased orders. A network accepts about 15 renewals per transaction, and a few transactions per block. */
const MAX_ORDERS = 1000;

/** Keeps leases alive until a signal is aborted. */
export function keepLeases(
  services: LeaseServices,
  settings: LeaseSettings,
  emit: (event: LeaseEvent) => void,
  closing: AbortSignal,
): LeaseKeeper {
  const { node, accounts } = services;
  const state = createLeaseState();
  const data = node.service(TradingDataService);
  const limits = createLimits(data);
  const own = { node, core: node.service(CoreService), data, accounts, emit, limits, watch: node.watch };
  const sender = createLeaseSender(state, services, settings, own);
  const renewing = linkedController(closing);
  const renewals = keepRenewing(state, { ...own, sender, sending: closing }, settings, renewing.signal);
  void followAccount(state, own, settings, renewals.wake, closing);
  const unfollow = followBlocks(node.watch, closing, {
    stopOrder({ stopOrder, submission }) {
      if (stopOrder?.partyId === settings.signing.signer.publicKey) {
        adoptStop(state, { stopOrder, submission }, settings);
        applyStopOrder(state, stopOrder, own);
      }
    },
    ended(_, time) {
      if (time !== undefined) {
        state.clock.note(time);
      }
    },
  });
  onAbort(closing, unfollow);

  /** Submits an order whose stop orders, if it needs some, take the place of all others of the market. */
  async function submitOpening(
    submitted: OrderSubmission,
    { signal = closing, timeoutMs }: Pick<CallOptions, "signal" | "timeoutMs">,
  ): Promise<{ readonly executed: Promise<SentBatch> }> {
    const startedAt = monotonicMs();
    return withTimeout(timeoutMs ?? TIMEOUT_MS, signal, (ending) =>
      sender.inTurn(ending, async () => {
        const stops = planOpening(state, submitted, settings, await limits(ending));
        const leftMs = timeoutMs && remainingMs(timeoutMs, startedAt);
        const sent = sender.send(batchOf(submitted, stops), { signal, timeoutMs: leftMs });
        await sent.isSigned;
        return sent;
      }),
    );
  }

  return {
    async submit(command, options) {
      const submission = readLeasedOrder(command, settings);
      if (state.orders.size >= MAX_ORDERS) {
        throw notLeasable(
          `the maximum of ${MAX_ORDERS} leased orders is reached`,
          "Lease fewer orders: each is renewed repeatedly.",
        );
      }
      const order = { marketId: submission.marketId, side: submission.side };
      state.submitting.add(order);
      try {
        const { executed } = isOpening(state, submission, settings)
          ? await submitOpening(submission, options)
          : sender.send(batchOf(submission, NO_STOPS), options);
        return submissionOf(await executed);
      } finally {
        state.submitting.delete(order);
      }
    },

    setTrigger(marketId, trigger) {
      if (trigger === undefined) {
        state.triggers.delete(marketId);
      } else {
        state.triggers.set(marketId, trigger);
      }
      renewals.wake();
    },

    async release(release, { signal, timeoutMs }) {
      const startedAt = monotonicMs();
      renewing.abort();
      const { batchSize } = await withTimeout(timeoutMs ?? MAX_TIMER_MS, signal ?? closing, async (ending) => {
        // What was sent before may still place stop orders.
        await raceAbort(renewals.ended().then(sender.settled), ending);
        return limits(ending);
      });
      const outcomes: Outcome[] = [];
      for (const batch of cancellationsOf(state, release, batchSize)) {
        const leftMs = timeoutMs && remainingMs(timeoutMs, startedAt);
        const { executed } = sender.send(batch, { signal, timeoutMs: leftMs });
        outcomes.push((await executed).outcome);
      }
      return outcomes;
    },

    coverage: () => coverageOf(state, settings),
  };
}

/** Reads the command of an order to lease, which gets an expiry. */
function readLeasedOrder(source: CommandSource, { marketIds }: LeaseSettings): OrderSubmission {
  assertObject("command", source);
  if (source.case !== "orderSubmission") {
    throw notLeasable("the command must be an order submission", "Use a result of units.order().");
  }
  const { value } = source;
  assertObject("command.value", value);
  const { timeInForce = Order_TimeInForce.GTT, expiresAt, type } = value;
  if (type === Order_Type.MARKET) {
    throw notLeasable(
      "the order must be able to rest on the book",
      "Use a limit order. Send other orders with client.sendCommand.",
    );
  }
  if (timeInForce !== Order_TimeInForce.GTT && timeInForce !== Order_TimeInForce.UNSPECIFIED) {
    throw notLeasable(
      "the order must not have a time in force",
      "Omit timeInForce: a leased order always has TIME_IN_FORCE_GTT.",
    );
  }
  if (expiresAt !== undefined && expiresAt !== 0n) {
    throw notLeasable("the order must not have an expiry", "Omit expiresAt: leaseMs sets the lifetime of the order.");
  }
  const init = { ...value, timeInForce: Order_TimeInForce.GTT, expiresAt: 1n };
  const { command } = readCommand({ case: "orderSubmission", value: init });
  if (command.case !== "orderSubmission" || command.value.type !== Order_Type.LIMIT) {
    throw notLeasable(
      "the order must be able to rest on the book",
      "Use a limit order. Send other orders with client.sendCommand.",
    );
  }
  const order = create(OrderSubmissionSchema, { ...command.value, marketId: command.value.marketId.toLowerCase() });
  if (marketIds?.has(order.marketId) === false) {
    throw notLeasable(
      `market ${order.marketId} is not among marketIds`,
      "Add it to the options of client.leases(), or omit marketIds.",
    );
  }
  return order;
}

function notLeasable(summary: string, advice: string): RequestError {
  return new RequestError(summary, { advice: `${advice} Nothing was sent.` });
}

const NO_STOPS: Pick<LeaseBatch, "cancelledStops" | "submittedStops"> = { cancelledStops: [], submittedStops: [] };

function batchOf(submitted: OrderSubmission, stops: typeof NO_STOPS): LeaseBatch {
  const { marketId } = submitted;
  return { marketId, renewed: [], submitted, cancelledOrders: [], trigger: undefined, ...stops };
}

function submissionOf({ outcome, parts, txHash, expiresAt }: SentBatch): LeasedSubmission {
  const path = "submissions[0]";
  const id = parts.find((part) => part.path === path)?.id ?? "";
  if (outcome.status === "unknown") {
    return { id, txHash, expiresAt, status: "unknown", reason: outcome.reason };
  }
  const part = outcome.parts.find((each) => each.path === path);
  const status = part?.status ?? (outcome.status === "partial" ? "unknown" : outcome.status);
  return {
    id,
    txHash,
    expiresAt,
    status,
    reason: status === "executed" ? undefined : (part?.reason ?? reasonOf(outcome)),
  };
}

const reasonOf = (outcome: Outcome) => (outcome.status === "executed" ? undefined : outcome.reason);

/** The batches that cancel what is leased, by market, each within the network's limit. */
function cancellationsOf(
  state: LeaseState,
  { orders, positions }: ReleaseSettings,
  batchSize: number,
): readonly LeaseBatch[] {
  const cancelled = [
    ...(orders === "cancel" ? [...state.orders.values()].map((each) => ({ ...each, stop: undefined })) : []),
    ...(positions === "keep" ? [...state.stops.values()].map((each) => ({ ...each, stop: each })) : []),
  ];
  const marketIds = new Set(cancelled.map(({ marketId }) => marketId));
  return [...marketIds].flatMap((marketId) => {
    const all = cancelled.filter((each) => each.marketId === marketId);
    return Array.from({ length: Math.ceil(all.length / batchSize) }, (_, index) => {
      const part = all.slice(index * batchSize, (index + 1) * batchSize);
      return {
        marketId,
        renewed: [],
        submitted: undefined,
        cancelledOrders: part.flatMap(({ id, stop }) => (stop === undefined ? [id] : [])),
        cancelledStops: part.flatMap(({ stop }) => (stop === undefined ? [] : [stop])),
        submittedStops: [],
        trigger: undefined,
      };
    });
  });
}
