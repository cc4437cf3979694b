import { Market_TradingMode } from "../../../gen/vega/markets_pb.js";
import { Code } from "../../base/errors/code.js";
import { ConnectionError } from "../../base/errors/index.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { backoffMs, wait } from "../../base/signal/wait.js";
import type { ObservedNode } from "../live/execution.js";
import type { Outcome } from "../live/transaction-outcome.js";
import type { LeaseSettings } from "./lease-options.js";
import { dropExpiredStops } from "./lease-results.js";
import type { LeaseSender } from "./lease-sender.js";
import type { LeaseDataService, LeaseEvents, LeaseLimits } from "./lease-services.js";
import { type LeaseState, marketsOf, volumeOf } from "./lease-state.js";
import { type LeaseBatch, planRenewals } from "./renewal-plan.js";

/** The services that renew leases. */
export interface RenewalServices extends LeaseEvents {
  readonly node: ObservedNode;
  readonly data: LeaseDataService;
  readonly sender: LeaseSender;
  readonly limits: (signal: AbortSignal) => Promise<LeaseLimits>;
  /** Ends the renewals in progress. */
  readonly sending: AbortSignal;
}

/** Renews leases continuously. */
export interface Renewals {
  /** Renews immediately, for example because a position has changed. */
  wake(): void;
  /** Waits until no renewal is being signed. Call it after the signal was aborted. */
  ended(): Promise<void>;
}

/** The minimum time for a renewal, in milliseconds: a network makes a block about once a second. */
const MIN_SENDING_MS = 5_000;

/**
 * Renews leases until a signal is aborted. A renewal does not wait for the outcome of the previous one: expiries are
 * absolute, and each renewal cancels all stop orders that earlier ones may have placed.
 */
export function keepRenewing(
  state: LeaseState,
  services: RenewalServices,
  settings: LeaseSettings,
  stop: AbortSignal,
): Renewals {
  const { emit } = services;
  let endWait = (): void => {};
  let isWoken = false;
  let lastTime = 0n;

  async function renewOnce(): Promise<void> {
    const time = await state.clock.read(services.node, stop);
    if (time === lastTime && !isWoken) {
      return; // No block was made since, so nothing has come closer to its expiry.
    }
    isWoken = false;
    lastTime = time;
    await dropExpiredStops(state, services);
    await renewAll(state, services, settings, stop);
  }

  async function run(): Promise<void> {
    for (let failures = 0; !stop.aborted; ) {
      const startedAt = monotonicMs();
      try {
        await renewOnce();
        failures = 0;
      } catch (error) {
        if (stop.aborted) {
          return;
        }
        failures += 1;
        emit({ kind: "renewalFailed", marketId: undefined, error });
      }
      const tookMs = monotonicMs() - startedAt;
      state.isBehind = failures === 0 && tookMs > settings.renewEveryMs;
      const leftMs = Math.max(settings.renewEveryMs - tookMs, 0);
      await waitUntilWoken(failures === 0 ? leftMs : Math.min(settings.renewEveryMs, backoffMs(failures)));
    }
  }

  async function waitUntilWoken(ms: number): Promise<void> {
    if (!isWoken) {
      await wait(ms, stop, (end) => {
        endWait = end;
      }).catch(() => undefined); // The loop ends with the signal.
    }
  }

  const running = run();
  return {
    wake() {
      isWoken = true;
      endWait();
    },
    ended: () => running,
  };
}

/** Sends the renewals of all markets; resolves when they are signed. */
async function renewAll(
  state: LeaseState,
  services: RenewalServices,
  settings: LeaseSettings,
  stop: AbortSignal,
): Promise<void> {
  const limits = await services.limits(stop);
  for (const marketId of marketsOf(state, settings)) {
    void noteAuction(state, marketId, services.data, settings.renewEveryMs, stop); // It may hang.
    await services.sender.inTurn(stop, async () => {
      for (const batch of planRenewals(state, marketId, settings, limits)) {
        if (!stop.aborted) {
          await renew(batch, services, settings);
        }
      }
    });
  }
}

/** Sends a renewal, and reports what becomes of it; resolves when it is signed. */
async function renew(
  batch: LeaseBatch,
  { sender, emit, sending: signal }: RenewalServices,
  { leaseMs }: LeaseSettings,
): Promise<void> {
  const { marketId } = batch;
  const { executed, isSigned } = sender.send(batch, { signal, timeoutMs: Math.max(leaseMs, MIN_SENDING_MS) });
  executed.then(
    ({ outcome, txHash, expiresAt }) => {
      const isExecuted = outcome.status === "executed" || outcome.status === "partial";
      emit(
        isExecuted
          ? { kind: "renewed", marketId, txHash, orders: renewedOrders(outcome), expiresAt }
          : { kind: "renewalFailed", marketId, error: notRenewed(outcome) },
      );
    },
    (error: unknown) => {
      if (!signal.aborted) {
        emit({ kind: "renewalFailed", marketId, error });
      }
    },
  );
  await isSigned;
}

function renewedOrders({ parts }: Exclude<Outcome, { readonly status: "unknown" }>): number {
  return parts.filter(({ path, status }) => path.startsWith("amendments") && status === "executed").length;
}

function notRenewed({ txHash, ...outcome }: Exclude<Outcome, { readonly status: "executed" }>): ConnectionError {
  return new ConnectionError(`the renewal ${txHash} was probably not executed: ${outcome.reason}`, {
    code: Code.Aborted,
    advice: "The next renewal follows automatically.",
    connected: true,
  });
}

/** Notes whether a market is in an auction: it decides whether a position would be closed. Renewals do not depend on it. */
async function noteAuction(
  state: LeaseState,
  marketId: string,
  data: LeaseDataService,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (volumeOf(state, marketId) === 0n) {
    return;
  }
  const mode = await data.getLatestMarketData({ marketId }, { signal, timeoutMs }).then(
    ({ marketData }) => marketData?.marketTradingMode,
    () => undefined,
  );
  if (mode === Market_TradingMode.CONTINUOUS) {
    state.auctions.delete(marketId);
  } else if (mode !== undefined) {
    state.auctions.add(marketId);
  }
}
