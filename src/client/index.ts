import type { DescService } from "@bufbuild/protobuf";
import {
  createClient as createConnectClient,
  createContextValues,
  type Client as ServiceClient,
  type Transport,
} from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { type HistorySegment, TradingDataService } from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "../../gen/client/vega/api/v1/core_pb.js";
import { staysOnLoopback } from "../config/loopback.js";
import { type ClientConfig, readConfig } from "../config/schema.js";
import { type CallOptions, connectOptions, readCallOptions } from "../given/call-options.js";
import { type DataNodeLag, measureLag } from "../history/data-node-lag.js";
import { createExport } from "../history/export.js";
import { checkExportOptions } from "../history/export-options.js";
import type { ExportOptions, NetworkHistoryExport } from "../history/network-history-export.js";
import { type ExportRequest, exportRange, readExportRequest } from "../history/request.js";
import { listSegments } from "../history/segments.js";
import { createLedgerExport } from "../ledger/export.js";
import { checkLedgerOptions, type LedgerExport, type LedgerOptions } from "../ledger/ledger-export.js";
import { type LedgerRequest, readLedgerRequest } from "../ledger/request.js";
import { requireDeployedOrder } from "../listing/deployed-order.js";
import { createListings, type Listings } from "../listing/listings.js";
import { createPaging, type Paging } from "../listing/paging.js";
import { createBlockWatch } from "../live/block-watch.js";
import { createEvents, type Events } from "../live/events.js";
import type { Following } from "../live/follow.js";
import { createFollowing } from "../live/follow-table.js";
import type { LiveCalls } from "../live/observe-call.js";
import { createOutcomes, type Outcomes } from "../live/outcomes.js";
import { createTransactionResults, type TransactionResults } from "../live/transaction-results.js";
import { profileRules } from "../schema/profile.js";
import type { TableName } from "../schema/tables.js";
import { haltingTransaction, TRANSACTION_METHODS } from "../transaction/halting.js";
import { createTransactions, type Transactions } from "../transaction/transactions.js";
import { callId } from "../transport/call-id.js";
import { fatalRequests } from "../transport/fatal-requests.js";
import { startingOver } from "../transport/layers/fallback.js";
import { observing } from "../transport/layers/observing.js";
import { onceOnly } from "../transport/layers/once-only.js";
import { throwingOurErrors } from "../transport/layers/our-errors.js";
import { type Refusal, refusing } from "../transport/layers/refusing.js";
import { methodName } from "../transport/method-name.js";
import { createServiceClient } from "../transport/service-client.js";
import { createTransport, failingCall, type TransportOptions } from "../transport/transport.js";

/** The interface of a node, the same over every transport. */
export interface Client
  extends Listings,
    Paging,
    Events,
    TransactionResults,
    Following,
    Omit<Transactions, "sendCommand" | "submitTransaction">,
    Outcomes,
    AsyncDisposable {
  /**
   * Export one table of network history between two blocks (specification, 4.1).
   *
   * Nothing is sent before the export is consumed.
   *
   * @param request the table, the first block and the last block, inclusive; without `snap`, whole segments
   * @param options the signal, the progress callback, request headers, and how the range and the extensions are checked
   * @returns the export; every way to consume it calls the node once
   * @throws {@link RequestError} if the table is unknown, a block is not a positive whole number, or the range is
   *   reversed
   */
  exportNetworkHistory<Asked extends TableName = TableName>(
    request: ExportRequest<Asked>,
    options?: ExportOptions,
  ): NetworkHistoryExport<Asked>;
  /**
   * Export the entries of a party's ledger as CSV.
   *
   * Nothing is sent before the export is consumed.
   *
   * @param request the party and, where not all are wanted, the asset and the span of time
   * @param options the signal, the progress callback, request headers, and the largest row in bytes
   * @returns the export; every way to consume it calls the node once
   * @throws {@link RequestError} if an identifier is not 64 hex digits, a time is invalid, or the span is empty
   */
  exportLedgerEntries(request: LedgerRequest, options?: LedgerOptions): LedgerExport;
  /**
   * List the segments of network history that the node holds.
   *
   * @param options a signal, headers and a time limit
   * @returns the segments, oldest first
   * @throws {@link TradewireError} if the call fails: its subclass says how
   */
  listSegments(options?: CallOptions): Promise<HistorySegment[]>;
  /**
   * Compares the last block of the data node with that of its core, and with this machine's clock. A data node that stopped
   * writing keeps answering with old state, which its answers do not show.
   *
   * @param options a signal, headers and a time limit
   * @returns how they compare
   * @throws {@link TradewireError} if the data node cannot be asked; a core that cannot be asked is no error
   *
   * @example
   * const { state, behindCoreMs } = await client.dataNodeLag();
   * if (state === "lagging") console.warn(`the data node is ${behindCoreMs} ms behind its core`);
   */
  dataNodeLag(options?: CallOptions): Promise<DataNodeLag>;
  /**
   * Create a client of any service of the node, such as one that a fork has added, with a function for each method.
   *
   * @param service the service's descriptor, as `protoc-gen-es` generates it
   * @returns Connect's client, over the same transport; its methods throw the library's errors
   *
   * @example
   * const { height } = await client.service(CoreService).lastBlockHeight({});
   */
  service<S extends DescService>(service: S): ServiceClient<S>;
  /** The transport. Its failures are Connect errors, whose cause is one of the library's errors. */
  readonly transport: Transport;
  /** Close all connections. Calls under way end at once with an error that says so, and later ones are refused. */
  close(): Promise<void>;
}

const refuseHalting: Refusal = (request, { header, ...call }, transport) =>
  haltingTransaction(
    request,
    (service) => createConnectClient(service, transport),
    connectOptions({ ...call, headers: header }),
  );

/** What looks at requests before they are sent, since they would stop a node or the network. */
const REFUSALS = new Map<string, Refusal>([
  ...fatalRequests,
  ...TRANSACTION_METHODS.map((method) => [method, refuseHalting] as const),
]);

/**
 * Create a client for a node.
 *
 * @param config the transport, the node's URLs, timeouts (milliseconds), retries and limits (bytes)
 * @param options Connect's interceptors, which are applied to every call over any transport, and hooks
 * @returns the client; `close()` or `await using` ends its connections
 * @throws {@link RequestError} if the configuration is wrong
 * @throws {@link FileError} if a file of the TLS configuration cannot be read
 *
 * @example
 * const client = createClient({ transport: "grpc", grpc: { url: "http://127.0.0.1:3007" } });
 * const request = { table: "trades", fromBlock: 1, toBlock: 3000 } as const;
 * const { path, sha256 } = await client.exportNetworkHistory(request).saveTo("archives/");
 */
export function createClient(config: ClientConfig, options: TransportOptions = {}): Client {
  const checked = readConfig(config);
  const transport = refusing(createTransport(checked, options), REFUSALS);
  const failing = failingCall(checked);
  const { extensions, chainIdPrefix, orderPages } = profileRules[checked.profile];
  const serviceClient = <S extends DescService>(service: S) => createServiceClient(service, transport, failing);
  const dataService = serviceClient(TradingDataService);
  const { exportNetworkHistory: exportMethod, exportLedgerEntries: ledgerMethod } = TradingDataService.method;
  const calls = throwingOurErrors(transport, failing);
  const requireOrder = orderPages === "newest-first" ? requireDeployedOrder : () => undefined;
  const { listRecords, ...paging } = createPaging(calls.unary, failing, requireOrder);
  const core = serviceClient(CoreService);
  const { prepare, ...transactions } = createTransactions(core, {
    serviceClient,
    chainId: checked.chainId,
    isLoopback: staysOnLoopback(checked),
    chainIdPrefix,
  });
  const { onRetry } = observing(options.hooks ?? {});
  const observingOver = (stream: LiveCalls["stream"]): LiveCalls => ({
    stream: (method, signal, timeoutMs, header, input, contextValues) =>
      stream(method, signal, timeoutMs, header, input, onceOnly(contextValues)),
    records: paging.records,
    failing,
    retry: checked.retry,
    chainId: checked.chainId,
    onRetry: ({ method, contextValues, ...retry }) =>
      onRetry?.({ ...retry, id: callId(contextValues), method: methodName(method) }),
  });
  const live = observingOver(calls.stream);
  const events = createEvents(live);
  // Over a connection of its own: where a submission's connection is lost, the result of the transaction still comes.
  const watchTransport = createTransport(checked, options);
  const { stream: watchStream } = throwingOurErrors(watchTransport, failing);
  const watchedEvents = createEvents(observingOver(watchStream));
  const watch = createBlockWatch(
    (signal) =>
      watchedEvents.events({ types: ["beginBlock", "transactionResult", "stopOrder", "endBlock"] }, { signal }),
    checked.retry,
  );
  const close = async () => {
    watch.close();
    await Promise.all([transport.close(), watchTransport.close()]);
  };

  const client: Client = {
    transport,
    service: serviceClient,

    exportNetworkHistory(request, exportOptions = {}) {
      const { tableNumber: table, ...asked } = readExportRequest(request);
      checkExportOptions(exportOptions);
      const { signal, headers, timeoutMs } = exportOptions;
      return createExport({
        options: { ...exportOptions, extensions: exportOptions.extensions ?? extensions },
        profile: checked.profile,
        maxArchiveBytes: checked.limits.maxArchiveBytes,
        takeRange: exportRange(asked, exportOptions, () => listSegments(dataService, { signal, headers, timeoutMs })),
        listSegments: (ending) => listSegments(dataService, { signal: ending, headers, timeoutMs }),
        retry: {
          ...checked.retry,
          onRetry: (retry) =>
            onRetry?.({ ...retry, id: callId(createContextValues()), method: methodName(exportMethod) }),
        },
        fail: failing(exportMethod, signal),
        startingOver,
        async open(range, ending, contextValues) {
          const input = createAsyncIterable([{ ...range, table }]);
          return calls.stream(exportMethod, ending, timeoutMs, headers, input, contextValues);
        },
      });
    },

    exportLedgerEntries(request, ledgerOptions = {}) {
      const message = readLedgerRequest(request);
      checkLedgerOptions(ledgerOptions);
      const { signal, headers, timeoutMs } = ledgerOptions;
      return createLedgerExport({
        request: message,
        options: ledgerOptions,
        fail: failing(ledgerMethod, signal),
        startingOver,
        open: (ending, contextValues) => {
          const input = createAsyncIterable([message]);
          return calls.stream(ledgerMethod, ending, timeoutMs, headers, input, contextValues);
        },
      });
    },

    listSegments: async (listOptions) => listSegments(dataService, readCallOptions(listOptions)),

    dataNodeLag: async (lagOptions) => measureLag({ core, data: dataService }, readCallOptions(lagOptions)),

    ...createFollowing({
      exportNetworkHistory: (request, exportOptions) => client.exportNetworkHistory(request, exportOptions),
      listSegments: (listOptions) => client.listSegments(listOptions),
    }),
    ...paging,
    ...createListings(dataService, listRecords, failing, requireOrder),
    ...createTransactionResults(live),
    ...events,
    ...transactions,
    ...createOutcomes({ ...transactions, prepare }, { watch, service: serviceClient }, checked.chainId),

    close,
    [Symbol.asyncDispose]: close,
  };
  return client;
}
