import { createEventReporter } from "../../base/errors/observer.js";
import { assertKnownKeys, assertObject, assertOneOf, invalidValueError } from "../../base/input/assert.js";
import { type CallOptions, validateCallOptions } from "../../base/input/call-options.js";
import { lazily } from "../../base/input/lazy.js";
import { snapshotData, withSnapshots } from "../../base/input/snapshot.js";
import { linkedController } from "../../base/signal/abort.js";
import { throwIfAborted, wait } from "../../base/signal/wait.js";
import { requireIdentifier } from "../live/events-request.js";
import { loadSending } from "../live/outcomes.js";
import type { Outcome } from "../live/transaction-outcome.js";
import { loadAccountState } from "../market/account.js";
import type { CommandSource } from "../transaction/input-data.js";
import type { LeaseCoverage } from "./coverage.js";
import type { LeasedSubmission, LeaseKeeper, LeaseServices, ReleaseSettings } from "./lease-keeper.js";
import { type LeasesOptions, parseLeasesOptions } from "./lease-options.js";
import type { LeaseTrigger } from "./lease-state.js";

/** How to submit a leased order. */
export interface LeaseCallOptions extends Pick<CallOptions, "signal"> {
  /** Total time limit, in milliseconds; after that the outcome is unknown. By default as for `sendCommand`. */
  readonly timeoutMs?: number | undefined;
}

/** How leases end. */
export interface ReleaseOptions extends LeaseCallOptions {
  /** Whether leased orders are canceled now (the default) or expire. */
  readonly orders?: ReleaseSettings["orders"] | undefined;
  /** Whether the network still closes positions after `flattenAfterMs`; true by default. */
  readonly positions?: ReleaseSettings["positions"] | undefined;
}

/** The coverage before anything is known. */
const UNKNOWN_COVERAGE: LeaseCoverage = {
  state: "starting",
  chainTime: undefined,
  isBehind: false,
  markets: [],
};

/** The time after which code that could not be loaded is loaded again, in milliseconds. */
const LOAD_AGAIN_MS = 1000;

/** Loads all that renews leases. */
const loadKeeping = lazily(async () => {
  const loading = import("./lease-keeper.js").then((keeping) => keeping.keepLeases);
  const [keepLeases] = await Promise.all([loading, loadSending(), loadAccountState()]);
  return keepLeases;
});

/** The names of {@link LeaseCallOptions}. */
const CALL_OPTIONS = { signal: true, timeoutMs: true } as const;

/**
 * Orders and positions that do not outlive the program: a dead man's switch.
 *
 * A leased order expires unless it is renewed, and a position is closed by a stop order that the network submits when
 * renewals stop. No other process is needed: the network's own rules take effect when the program, its machine or its
 * connection fails.
 */
export interface Leases extends AsyncDisposable {
  /**
   * Submits an order that stays live as long as it is renewed. If it may open a position, the stop orders that would
   * close it are submitted in the same transaction, so that there is no block in which the position is not covered.
   *
   * @param command the submission of a limit order, without a time in force and an expiry, as `units.order()` creates
   *   it
   * @param options a signal, and a time limit
   * @returns the order's identifier, its expiry, and whether the network placed it
   * @throws {@link CommandError} and {@link RequestError} if the command or an option is wrong; nothing was sent then
   * @throws {@link TransactionError} if the network refused the transaction
   * @throws {@link ConnectionError} if no node was reachable; nothing was sent then
   * @throws {@link OutcomeUnknownError} if the signal was aborted after it was sent; it is leased in case it was placed
   *
   * @example
   * const { id, status } = await leases.submit(units.order({ side: Side.BUY, type: Order_Type.LIMIT, price: "1.2", size: "3" }));
   */
  submit(command: CommandSource, options?: LeaseCallOptions): Promise<LeasedSubmission>;
  /**
   * Sets the price at which the stop order of a market closes the position while renewals continue: a stop loss or a
   * take profit. The next renewal, which follows immediately, replaces the stop order. The trigger is removed when it
   * is reached, and when the position is closed or changes sides. Without a trigger, no price triggers the stop order.
   *
   * @param marketId the market, 64 hex digits
   * @param trigger the price, in units of the market's last decimal, as `units.price.parse()` returns it; `undefined`
   *   for none
   * @throws {@link RequestError} if an argument is wrong
   *
   * @example
   * leases.setTrigger(marketId, { fallsBelow: units.price.parse("1.05") });
   */
  setTrigger(marketId: string, trigger: LeaseTrigger | undefined): void;
  /**
   * Returns what would happen to orders and positions if the program ended now. It makes no request to the node.
   *
   * @returns for each market the leased orders with their expiry, other orders, and whether the position would be closed
   *
   * @example
   * for (const { marketId, position } of leases.coverage().markets) console.log(marketId, position.status);
   */
  coverage(): LeaseCoverage;
  /**
   * Ends all leases on purpose: no more renewals, and leased orders are canceled now. Close the leases afterwards.
   *
   * @param options whether orders are canceled, whether positions are still closed, a signal, and a time limit
   * @returns the outcomes of the cancellations. Orders and stop orders that had already ended count as failed parts
   * @throws the errors of {@link submit}
   *
   * @example
   * await leases.release({ positions: "keep" }); // Nothing is left to expire, and positions stay open.
   */
  release(options?: ReleaseOptions): Promise<readonly Outcome[]>;
  /** Ends renewals. Leased orders expire, and positions are closed after `flattenAfterMs`, as if the program had ended. */
  close(): void;
}

export function createLeases(services: LeaseServices, options: LeasesOptions): Leases {
  const settings = parseLeasesOptions(options);
  const emit = createEventReporter(options.onEvent, "the leases");
  const closing = linkedController(services.closing);
  let keeper: LeaseKeeper | undefined;
  const load = lazily(async () => {
    const keepLeases = await loadKeeping();
    keeper = keepLeases(services, settings, emit, closing.signal);
    return keeper;
  });
  void startKeeping();

  /** Leases must be renewed even if nothing more is submitted. */
  async function startKeeping(): Promise<void> {
    while (keeper === undefined && !closing.signal.aborted) {
      try {
        await load();
      } catch (error) {
        emit({ kind: "renewalFailed", marketId: undefined, error });
        await wait(LOAD_AGAIN_MS, closing.signal).catch(() => undefined);
      }
    }
  }

  return withSnapshots<Leases>({
    async submit(given, submitOptions = {}) {
      const command = snapshotData(given);
      assertKnownKeys("options", submitOptions, CALL_OPTIONS);
      validateCallOptions(submitOptions);
      throwIfAborted(closing.signal);
      return (await load()).submit(command, submitOptions);
    },

    setTrigger(marketId, trigger) {
      requireIdentifier(marketId, "marketId");
      validateTrigger(trigger);
      load().then(
        (loaded) => loaded.setTrigger(marketId.toLowerCase(), trigger),
        (error: unknown) => emit({ kind: "renewalFailed", marketId: marketId.toLowerCase(), error }),
      );
    },

    coverage: () => keeper?.coverage() ?? UNKNOWN_COVERAGE,

    async release(releaseOptions = {}) {
      assertKnownKeys("options", releaseOptions, { ...CALL_OPTIONS, orders: true, positions: true });
      const { orders = "cancel", positions = "close", ...callOptions } = releaseOptions;
      assertOneOf("orders", orders, ["cancel", "expire"]);
      assertOneOf("positions", positions, ["keep", "close"]);
      validateCallOptions(callOptions);
      throwIfAborted(closing.signal);
      return (await load()).release({ orders, positions }, callOptions);
    },

    close,
    [Symbol.asyncDispose]: async () => close(),
  });

  function close(): void {
    closing.abort(new DOMException("the leases were closed", "AbortError"));
  }
}

function validateTrigger(trigger: LeaseTrigger | undefined): void {
  if (trigger === undefined) {
    return;
  }
  assertObject("trigger", trigger);
  const [first, second] = Object.entries(trigger);
  const [name, price]: [string, unknown] = first ?? ["", undefined];
  const isPrice = typeof price === "string" && /^[1-9]\d{0,76}$/.test(price);
  if (second !== undefined || !isPrice || (name !== "fallsBelow" && name !== "risesAbove")) {
    throw invalidValueError("trigger", trigger, 'a price in the market\'s units, such as { fallsBelow: "105000" }');
  }
}
