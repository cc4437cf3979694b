import { Code } from "../../base/errors/code.js";
import { ProtocolError } from "../../base/errors/index.js";
import { assertKnownKeys } from "../../base/input/assert.js";
import { CALL_OPTIONS, type CallOptions, validateCallOptions } from "../../base/input/call-options.js";
import { lazily } from "../../base/input/lazy.js";
import { monotonicMs, startTimer } from "../../base/runtime/index.js";
import { linkedController } from "../../base/signal/abort.js";
import { createFlag, retryDelayMs, wait } from "../../base/signal/wait.js";
import { type EventType, eventTypes } from "../live/event-types.js";
import { requireIdentifier } from "../live/events-request.js";
import type { LiveCalls } from "../live/live-call.js";
import { createEvents } from "../live/live-events.js";
import { readAhead } from "../live/read-ahead.js";
import { untilAnswered } from "../live/reconnect.js";
import { KINDS, type Listed, type RecordKind } from "./account-records.js";
import type { AccountView } from "./account-state.js";

/** The accounts of parties. */
export interface Accounts {
  /**
   * Observes the live orders, the pending stop orders, the positions and the balances of a party from now on.
   *
   * The node's events show what changed, and the node's listings supply the records, so that each state is one that the
   * node has listed. After a lost connection, everything is listed again: then nothing is missing, and no change is
   * reported twice. A slow reader gets all changes since its last view together. A change that is undone before it is
   * listed, such as an order that is filled immediately, is not reported; `client.events()` reports it.
   *
   * @param partyId the party's public key, 64 hex digits
   * @param options a signal, request headers and a time limit for each call
   * @returns the states of the account, without an end; nothing is sent before they are requested. They end with the loop
   * @throws {@link RequestError} immediately, if the key is not 64 hex digits
   * @throws {@link NodeError} while iterating, if the node refuses a call
   * @throws {@link ProtocolError} while iterating, if the node lists records older than ones that it listed before, ten times in
   *   a row, or more than 100 000 records of a kind
   * @throws {@link CanceledError} while iterating, if the signal was aborted
   *
   * @example
   * for await (const { orders, changes } of client.account(partyId, { signal })) {
   *   console.log(orders.length, changes.map(({ kind, isListed }) => `${kind} ${isListed ? "changed" : "ended"}`));
   * }
   */
  account(partyId: string, options?: CallOptions): AsyncIterable<AccountView>;
}

/** The kinds of records that an event of a type may have changed. */
type KindsOfEvents = Readonly<Partial<Record<EventType, readonly RecordKind[]>>>;

/** The kinds of records that a party's event may have changed. Profits and losses are paid with events of accounts. */
const PARTY_EVENTS: KindsOfEvents = {
  order: ["order"],
  cancelledOrders: ["order"],
  stopOrder: ["stopOrder"],
  trade: ["order", "position"],
  account: ["balance", "position"],
  positionStateEvent: ["position"],
  settlePosition: ["position"],
  settleDistressed: ["order", "position"],
  lossSocialization: ["position"],
};

/**
 * Events without a party, which the bus drops where a party is given (v0.78.0, core/events/expired_orders.go and
 * datanode/sqlsubscribers/position.go). The beginning of each block shows that the connection works.
 */
const NETWORK_EVENTS: KindsOfEvents = {
  beginBlock: [],
  expiredOrders: ["order"],
  distressedOrders: ["order"],
  distressedPositions: ["position"],
  settleMarket: ["order", "position"],
  fundingPayments: ["position"],
};

/** The time after a lost connection at which all records are listed once more, and the time between two such listings. */
const [FIRST_COMPARISON_MS, COMPARISON_MS] = [1000, 30_000];

/** The time between two listings of records that keep changing, in milliseconds: a block has a series of events. */
const LISTING_INTERVAL_MS = 250;

/** The number of outdated listings in a row after which the stream fails. */
const MAX_OUTDATED = 10;

export function createAccounts(calls: LiveCalls): Accounts {
  return {
    account(partyId, options = {}) {
      requireIdentifier(partyId, "partyId");
      assertKnownKeys("options", options, CALL_OPTIONS);
      validateCallOptions(options);
      const party = partyId.toLowerCase();
      return readAhead((signal) => observeAccount(calls, party, options, signal), {
        maxWaiting: 1,
        signal: options.signal,
      });
    },
  };
}

/** Loads the state of accounts: it needs the definitions of all records, which are large. */
export const loadAccountState = lazily(() => import("./account-state.js"));

async function* observeAccount(
  calls: LiveCalls,
  partyId: string,
  options: CallOptions,
  signal: AbortSignal,
): AsyncGenerator<readonly AccountView[]> {
  const ending = linkedController(signal);
  const changed = createFlag();
  /** Raised by an answer of the node, a lost connection and a failure. */
  const news = createFlag();
  const { createAccountState } = await loadAccountState();
  const account = createAccountState(calls, partyId, { ...options, signal: ending.signal });
  const due = new Set<RecordKind>(KINDS);
  let failure: { readonly reason: unknown } | undefined;
  let stopTimer = (): void => {};

  function markDue(kinds: readonly RecordKind[]): void {
    for (const kind of kinds) {
      due.add(kind);
      changed.raise();
    }
  }

  function scheduleComparison(ms: number): void {
    stopTimer();
    const compare = () => {
      markDue(KINDS);
      scheduleComparison(COMPARISON_MS);
    };
    stopTimer = startTimer(compare, ms, { ref: false });
  }

  const onRetry: LiveCalls["onRetry"] = (lost) => {
    calls.onRetry(lost);
    account.connectionLost();
    news.raise();
    scheduleComparison(FIRST_COMPARISON_MS);
    changed.raise();
  };
  const { events } = createEvents({ ...calls, onRetry });

  /** Reads events until the signal is aborted or the stream fails for good; then it throws. */
  async function readEvents(kindsOf: KindsOfEvents, filter: { readonly partyId?: string }): Promise<void> {
    const { headers, timeoutMs } = options;
    const observing = { reconnect: true, signal: ending.signal, headers, timeoutMs } as const;
    for await (const event of events({ types: eventTypes.filter((type) => type in kindsOf), ...filter }, observing)) {
      if (!("gap" in event)) {
        account.observe(event);
        markDue(kindsOf[event.kind] ?? []);
        markDue(event.kind === "beginBlock" ? account.awaited() : []);
      }
    }
  }

  const tasks = Promise.all([readEvents(PARTY_EVENTS, { partyId }), readEvents(NETWORK_EVENTS, {})]).catch(
    (reason: unknown) => {
      failure = { reason };
      changed.raise();
      news.raise();
    },
  );
  scheduleComparison(FIRST_COMPARISON_MS);
  try {
    for (let outdated = 0; ; ) {
      const kinds = KINDS.filter((kind) => due.delete(kind));
      const listedAt = monotonicMs();
      const answer: { listed?: Listed } = {};
      untilAnswered(() => account.refresh(kinds), calls.retry, ending.signal)
        .then(
          (listed) => {
            answer.listed = listed;
          },
          (reason: unknown) => {
            failure ??= { reason };
          },
        )
        .finally(news.raise);
      // Report a lost connection at once: listings may wait long for a node that is down.
      while (answer.listed === undefined) {
        await news.lowered();
        if (failure !== undefined) {
          throw failure.reason;
        }
        const view = account.takeView();
        if (view !== undefined) {
          yield [view];
        }
      }
      const { listed } = answer;
      outdated = listed === "outdated" ? outdated + 1 : 0;
      if (outdated === MAX_OUTDATED) {
        throw outdatedListing(partyId);
      }
      markDue(account.awaited());
      if (listed === "outdated") {
        markDue(kinds);
        await wait(retryDelayMs(outdated, calls.retry), ending.signal);
      }
      await changed.lowered();
      await wait(Math.max(listedAt + LISTING_INTERVAL_MS - monotonicMs(), 0), ending.signal);
    }
  } finally {
    stopTimer();
    ending.abort();
    await tasks;
  }
}

function outdatedListing(partyId: string): ProtocolError {
  return new ProtocolError(`the node's records of party ${partyId} are older than those that it sent before`, {
    code: Code.FailedPrecondition,
    advice: "The node's chain was reset, or the address leads to several nodes and one of them lags. Start over.",
  });
}
