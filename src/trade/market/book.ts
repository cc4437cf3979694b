import { createAsyncIterable } from "@connectrpc/connect/protocol";
import type { ObserveMarketsDepthUpdatesResponse } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { Code } from "../../base/errors/code.js";
import { ProtocolError } from "../../base/errors/index.js";
import { createEventReporter } from "../../base/errors/observer.js";
import { assertFunction, assertKnownKeys } from "../../base/input/assert.js";
import {
  CALL_OPTIONS,
  type CallOptions,
  toConnectOptions,
  validateCallOptions,
} from "../../base/input/call-options.js";
import { linkedController } from "../../base/signal/abort.js";
import { createFlag, retryDelayMs, wait } from "../../base/signal/wait.js";
import { requireIdentifier } from "../live/events-request.js";
import { type LiveCalls, observeCall } from "../live/live-call.js";
import { loadDefinitions } from "../live/load-definitions.js";
import { readAhead } from "../live/read-ahead.js";
import { untilAnswered } from "../live/reconnect.js";
import { type BookGap, type BookView, createOrderBook, type LoadResult, type OrderBook } from "./order-book.js";

/** How an order book is observed. */
export interface BookOptions extends CallOptions {
  /** Called at each gap. If it throws, nothing changes. */
  readonly onGap?: ((gap: BookGap) => void) | undefined;
}

/** The order books of a node. */
export interface Books {
  /**
   * Observes the order book of a market from now on: first the node's complete book, then the book after each update.
   *
   * Updates are checked by their numbers. After a gap, such as a lost connection, the state is `reloading` until the
   * book is reloaded; then it is the node's book, as if nothing had been lost. A slow reader skips states and gets the
   * latest. The book is compared with the node's every 30 seconds, and a second after each connection.
   *
   * @param marketId the market, 64 hex digits
   * @param options a signal, request headers and a time limit for each call, and a function that is called at each gap
   * @returns the states of the book, without an end; nothing is sent before they are requested. They end with the loop
   * @throws {@link RequestError} immediately, if the identifier is not 64 hex digits
   * @throws {@link NodeError} while iterating, if the node refuses a call, for example because it has no such market
   * @throws {@link ProtocolError} while iterating, if the node's books are older than one that it sent before or impossible,
   *   ten times in a row, or a side has more than 100 000 levels
   * @throws {@link CanceledError} while iterating, if the signal was aborted
   *
   * @example
   * for await (const { state, buy, sell } of client.book(marketId, { signal })) {
   *   if (state === "live") console.log("bid", buy[0]?.price, "ask", sell[0]?.price);
   * }
   */
  book(marketId: string, options?: BookOptions): AsyncIterable<BookView>;
}

/** The time after a connection at which the book is compared with the node's first, and the time between two comparisons. */
const [FIRST_COMPARISON_MS, COMPARISON_MS] = [1000, 30_000];

/** The number of unusable books in a row after which the stream fails. */
const MAX_UNUSABLE = 10;

export function createBooks(calls: LiveCalls): Books {
  return {
    book(marketId, options = {}) {
      requireIdentifier(marketId, "marketId");
      assertKnownKeys("options", options, { ...CALL_OPTIONS, onGap: true });
      validateCallOptions(options);
      assertFunction("onGap", options.onGap);
      const id = marketId.toLowerCase();
      return readAhead((signal) => observeBook(calls, id, options, signal), { maxWaiting: 1, signal: options.signal });
    },
  };
}

async function* observeBook(
  calls: LiveCalls,
  marketId: string,
  { onGap, ...options }: BookOptions,
  signal: AbortSignal,
): AsyncGenerator<readonly BookView[]> {
  const ending = linkedController(signal);
  const book = createOrderBook(createEventReporter(onGap, "the order book", "onGap"));
  const changed = createFlag();
  let failure: { readonly reason: unknown } | undefined;
  const loader = createLoader(calls, book, { marketId, options, onChange: changed.raise }, ending.signal);
  const tasks = Promise.all([loader.run(), readUpdates()]).catch((reason: unknown) => {
    failure = { reason };
    changed.raise();
  });

  async function readUpdates(): Promise<void> {
    const { TradingDataService } = await loadDefinitions();
    const call = {
      method: TradingDataService.method.observeMarketsDepthUpdates,
      headers: options.headers,
      timeoutMs: options.timeoutMs,
      reconnect: true,
      stream: "the stream of the order book",
      requests() {
        loader.connectionOpened();
        return createAsyncIterable([{ marketIds: [marketId] }]);
      },
      read: ({ update }: ObserveMarketsDepthUpdatesResponse) => update.filter((each) => each.marketId === marketId),
      onGap() {
        loader.connectionLost();
        book.connectionLost();
        changed.raise();
      },
      missing: () => "updates may be missing",
    };
    for await (const updates of observeCall(calls, call, ending.signal, () => false)) {
      if (updates.map((update) => book.update(update)).includes(true)) {
        loader.request();
      }
      changed.raise();
    }
  }

  try {
    for (let last: BookView | undefined; ; await changed.lowered()) {
      if (failure !== undefined) {
        throw failure.reason;
      }
      const view = book.view();
      if (view !== undefined && view !== last) {
        last = view;
        yield [view];
      }
    }
  } finally {
    ending.abort();
    await tasks;
  }
}

/** Loads a book when it is needed, and compares it with the node's periodically. */
function createLoader(
  { service, retry }: LiveCalls,
  book: OrderBook,
  { marketId, options, onChange }: { readonly marketId: string; readonly options: CallOptions; onChange(): void },
  signal: AbortSignal,
) {
  let connections = 0;
  let isConnected = false;
  let isNeeded = false;
  let comparisonMs = FIRST_COMPARISON_MS;
  let wake = (): void => {};

  function request(): void {
    isNeeded = true;
    wake();
  }

  return {
    request,
    connectionOpened() {
      connections += 1;
      isConnected = true;
      comparisonMs = FIRST_COMPARISON_MS;
      request();
    },
    connectionLost() {
      isConnected = false;
    },
    /** Runs until the signal is aborted or a call fails permanently; then it throws. */
    async run(): Promise<never> {
      const { TradingDataService } = await loadDefinitions();
      const { getLatestMarketDepth, getMarket } = service(TradingDataService);
      const callOptions = { ...toConnectOptions(options), signal };
      // A node streams nothing for a market that it does not know, and its book is empty.
      await untilAnswered(() => getMarket({ marketId }, callOptions), retry, signal);
      for (let unusable = 0, failures = 0; ; ) {
        if (!isNeeded || !isConnected) {
          await wait(comparisonMs, signal, (end) => {
            wake = end;
          });
        }
        if (isConnected) {
          const isComparison = !isNeeded;
          isNeeded = false;
          const [connection, knownBefore] = [connections, book.sequenceNumber];
          const load = () => getLatestMarketDepth({ marketId }, callOptions);
          const loaded = await untilAnswered(load, retry, signal);
          const result = isConnected && connection === connections ? book.load(loaded, knownBefore) : "incomplete";
          onChange();
          unusable = result === "outdated" || result === "impossible" ? unusable + 1 : 0;
          failures = result === "complete" || result === "doubtful" ? 0 : failures + 1;
          if (unusable === MAX_UNUSABLE) {
            throw unusableBook(marketId, result, book.sequenceNumber);
          }
          isNeeded ||= result !== "complete";
          if (failures > 0) {
            await wait(retryDelayMs(failures, retry), signal);
          } else if (isComparison) {
            comparisonMs = COMPARISON_MS;
          }
        }
      }
    },
  };
}

function unusableBook(marketId: string, result: LoadResult, sequenceNumber: bigint): ProtocolError {
  return result === "impossible"
    ? new ProtocolError(`the order book of market ${marketId} has impossible prices or volumes`, {
        advice: "Use another node, and report this to the operator of the node.",
      })
    : new ProtocolError(
        `the node's order book of market ${marketId} is older than state ${sequenceNumber}, which it sent before`,
        {
          code: Code.FailedPrecondition,
          advice: "The node's chain was reset, or the address leads to several nodes and one of them lags. Start over.",
        },
      );
}
