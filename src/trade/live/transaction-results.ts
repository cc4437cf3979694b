import { createAsyncIterable } from "@connectrpc/connect/protocol";
import type { ObserveTransactionResultsResponse } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { TransactionResult } from "../../../gen/vega/events/v1/events_pb.js";
import { assertKnownKeys, invalidValueError } from "../../base/input/assert.js";
import { asResult } from "../../base/json-result.js";
import { type ObserveOptions, parseObserveOptions, requireIdentifier } from "./events-request.js";
import { type LiveCalls, observeCall } from "./live-call.js";
import { loadDefinitions } from "./load-definitions.js";
import { readAhead } from "./read-ahead.js";

/** Which results to observe. Different filters are ANDed; values of one filter are ORed. */
export interface ResultsRequest {
  /** Only of these senders: public keys, 64 hex digits each. */
  readonly partyIds?: readonly string[] | undefined;
  /** Only of these transactions: hashes, 64 hex digits each, of either case. */
  readonly hashes?: readonly string[] | undefined;
  /** Only those that were executed (`true`), or that failed (`false`). */
  readonly status?: boolean | undefined;
}

/**
 * A gap in a stream of results: the connection was lost there. Results name no blocks, so the gap names none either.
 */
export interface ResultsGap {
  readonly gap: { readonly afterBlock: undefined; readonly beforeBlock: undefined };
}

export interface TransactionResults {
  /**
   * Observes the results of transactions from now on: each result arrives after the transaction's block was executed.
   * The node does not send earlier events, or events that happen without a connection.
   *
   * @param request the parties, the hashes, and whether to return only transactions that succeeded, or only those that failed
   * @param options a signal, request headers, whether to reconnect, and how many results may wait
   * @returns the results; with `reconnect`, items with the key `gap` show where results may be missing. The stream
   *   opens when the iteration begins, and ends when you leave the loop
   * @throws {@link RequestError} immediately, if an identifier is not 64 hex digits
   * @throws {@link ConnectionError} while iterating, if the node is unreachable or the connection is lost
   * @throws {@link SlowConsumerError} while iterating, even with `reconnect`, if the stream ends because it is read too
   *   slowly
   * @throws {@link NodeError} while iterating, if the node refuses the request
   * @throws {@link CanceledError} while iterating, if the signal was aborted
   *
   * @example
   * for await (const { hash, status } of client.transactionResults({ partyIds: [partyId] })) console.log(hash, status);
   */
  transactionResults<R extends boolean = false>(
    request?: ResultsRequest,
    options?: ObserveOptions<R>,
  ): AsyncIterable<TransactionResult | (true extends R ? ResultsGap : never)>;
}

export function createTransactionResults(calls: LiveCalls): TransactionResults {
  function transactionResults<R extends boolean = false>(
    request?: ResultsRequest,
    options?: ObserveOptions<R>,
  ): AsyncIterable<TransactionResult | (true extends R ? ResultsGap : never)>;
  function transactionResults(
    request: ResultsRequest = {},
    options: ObserveOptions = {},
  ): AsyncIterable<TransactionResult | ResultsGap> {
    const message = readRequest(request);
    const { headers, timeoutMs, reconnect, signal, maxWaiting } = parseObserveOptions(options);
    const source = async function* (ending: AbortSignal, isLate: () => boolean) {
      const { TradingDataService } = await loadDefinitions();
      const call = {
        ...createResultReader(),
        method: TradingDataService.method.observeTransactionResults,
        headers,
        timeoutMs,
        reconnect,
        stream: "the stream of results",
        requests: () => createAsyncIterable([message]),
      };
      yield* observeCall(calls, call, ending, isLate);
    };
    return readAhead(source, { maxWaiting, signal });
  }
  return { transactionResults };
}

/** Reads results from answers. The first item after a lost connection is a gap. */
function createResultReader() {
  let isAfterGap = false;
  return {
    read({ transactionResults }: ObserveTransactionResultsResponse): readonly (TransactionResult | ResultsGap)[] {
      transactionResults.forEach(asResult);
      if (!isAfterGap) {
        return transactionResults;
      }
      isAfterGap = false;
      return [{ gap: { afterBlock: undefined, beforeBlock: undefined } }, ...transactionResults];
    },
    onGap() {
      isAfterGap = true;
    },
    missing: () => "results may be missing",
  };
}

function readRequest(request: ResultsRequest) {
  assertKnownKeys("request", request, { partyIds: true, hashes: true, status: true });
  const { partyIds = [], hashes = [], status } = request;
  if (status !== undefined && typeof status !== "boolean") {
    throw invalidValueError("status", status, "true for executed transactions, or false for failed ones");
  }
  return {
    partyIds: identifiers(partyIds, "partyIds"),
    // Nodes compare letter by letter, and not all write them in the same case.
    hashes: identifiers(hashes, "hashes").flatMap((hash) => [...new Set([hash.toUpperCase(), hash.toLowerCase()])]),
    ...(status !== undefined && { status }),
  };
}

function identifiers(given: readonly string[], name: string): string[] {
  if (!Array.isArray(given)) {
    throw invalidValueError(name, given, "an array of strings of 64 hex digits");
  }
  return given.map((text, at) => requireIdentifier(text, `${name}[${at}]`));
}
