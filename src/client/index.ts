import type { DescService } from "@bufbuild/protobuf";
import { createContextValues, type Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { type HistorySegment, TradingDataService } from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "../../gen/client/vega/api/v1/core_pb.js";
import { assertDescriptor } from "../base/input/assert.js";
import { type CallOptions, parseCallOptions, toConnectOptions } from "../base/input/call-options.js";
import { snapshot, withSnapshots } from "../base/input/snapshot.js";
import { profileRules } from "../base/profile.js";
import { createExport } from "../data/history/create-export.js";
import { type DataNodeLag, measureLag } from "../data/history/data-node-lag.js";
import { type ExportRequest, readExportRequest } from "../data/history/export-request.js";
import {
  checkExportOptions,
  type ExportOptions,
  type NetworkHistoryExport,
} from "../data/history/network-history-export.js";
import { createReferences, type References } from "../data/history/referenced-records.js";
import type { PartRetry } from "../data/history/save-in-parts.js";
import { listSegments } from "../data/history/segments.js";
import {
  checkLedgerOptions,
  createLedgerExport,
  type LedgerExport,
  type LedgerOptions,
} from "../data/ledger/ledger-export.js";
import { type LedgerRequest, readLedgerRequest } from "../data/ledger/ledger-request.js";
import { createListings, type Listings } from "../data/listing/listings.js";
import { requireDeployedOrder } from "../data/listing/pagination.js";
import { createPaging, type Paging } from "../data/listing/paging.js";
import type { TableName } from "../data/schema/table-names.js";
import { createGuard, type Guard, type GuardOptions } from "../trade/guard/guard.js";
import { createIntents, type Intents, type IntentsOptions } from "../trade/intent/intents.js";
import type { LeasesOptions } from "../trade/lease/lease-options.js";
import { createLeases, type Leases } from "../trade/lease/leases.js";
import { createBlockWatch } from "../trade/live/block-watch.js";
import { createFollowing, type Following } from "../trade/live/follow-table.js";
import type { LiveCalls } from "../trade/live/live-call.js";
import { createEvents, type Events } from "../trade/live/live-events.js";
import { createOutcomes, type Outcomes } from "../trade/live/outcomes.js";
import { createTransactionResults, type TransactionResults } from "../trade/live/transaction-results.js";
import { type Accounts, createAccounts } from "../trade/market/account.js";
import { type Books, createBooks } from "../trade/market/book.js";
import { createUnits, type UnitsOfMarkets } from "../trade/market/market-units.js";
import { createRecordListings, type RecordListings } from "../trade/market/record-listings.js";
import { haltingTransaction, TRANSACTION_METHODS } from "../trade/transaction/halting-transaction.js";
import { createRecentBlocks, type RecentBlocks } from "../trade/transaction/recent-blocks.js";
import { createTransactions, type Transactions } from "../trade/transaction/transactions.js";
import { type ClientConfig, type Config, readConfig } from "../wire/config/config-schema.js";
import { staysOnLoopback } from "../wire/config/loopback.js";
import { callId, withoutRetry } from "../wire/transport/call-context.js";
import { isolateHooks } from "../wire/transport/hooks.js";
import { startingOver } from "../wire/transport/layers/fallback.js";
import { assertRetryMethods } from "../wire/transport/layers/retry.js";
import { crashChecks, type RequestCheck, withRequestChecks } from "../wire/transport/layers/unsafe-requests.js";
import { throwingOurErrors } from "../wire/transport/library-errors.js";
import { methodName } from "../wire/transport/method.js";
import { createServiceClient, type ServiceClient } from "../wire/transport/service-client.js";
import {
  createTransport,
  failingCall,
  type OpenNode,
  readingOnce,
  type TransportOptions,
} from "../wire/transport/transport.js";
import { type NodeStatus, type Nodes, watchNodes } from "./nodes.js";

/** The interface of a node, the same over every transport. */
export interface Client
  extends Listings,
    Paging,
    References,
    Events,
    TransactionResults,
    Following,
    UnitsOfMarkets,
    RecordListings,
    Books,
    Accounts,
    Omit<Transactions, "sendCommand" | "submitTransaction">,
    Outcomes,
    AsyncDisposable {
  /**
   * Exports one table of network history between two blocks.
   *
   * Nothing is sent before the export is consumed.
   *
   * @param request the table, the first block and the last block, inclusive; without `snap`, complete segments
   * @param options the signal, the progress callback, request headers, and how the range and the extensions are checked
   * @returns the export; each method that consumes it makes one request
   * @throws {@link RequestError} if the table is unknown, a block is not a positive whole number, or the range is
   *   reversed
   */
  exportNetworkHistory<Asked extends TableName = TableName>(
    request: ExportRequest<Asked>,
    options?: ExportOptions,
  ): NetworkHistoryExport<Asked>;
  /**
   * Exports the entries of a party's ledger as CSV.
   *
   * Nothing is sent before the export is consumed.
   *
   * @param request the party and, to limit the entries, the asset and the span of time
   * @param options the signal, the progress callback, request headers, and the maximum row size in bytes
   * @returns the export; each method that consumes it makes one request
   * @throws {@link RequestError} if an identifier is not 64 hex digits, a time is invalid, or the span is empty
   */
  exportLedgerEntries(request: LedgerRequest, options?: LedgerOptions): LedgerExport;
  /**
   * Lists the segments of network history that the node holds.
   *
   * @param options a signal, headers and a time limit
   * @returns the segments, oldest first
   * @throws {@link TradewireError} if the call fails; the subclass shows the cause
   */
  listSegments(options?: CallOptions): Promise<HistorySegment[]>;
  /**
   * Compares the last block of the data node with that of its core, and with this machine's clock. A data node that stopped
   * writing keeps responding with old state, and its responses do not show that.
   *
   * @param options a signal, headers and a time limit
   * @returns how they compare
   * @throws {@link TradewireError} if the call to the data node fails; a failed call to the core does not cause an
   *   error
   *
   * @example
   * const { state, behindCoreMs } = await client.dataNodeLag();
   * if (state === "lagging") console.warn(`the data node is ${behindCoreMs} ms behind its core`);
   */
  dataNodeLag(options?: CallOptions): Promise<DataNodeLag>;
  /**
   * Checks the state of every configured node, including nodes that are not used.
   *
   * @param options a signal, and a time limit for the versions
   * @returns the state of each node, in the order of the configuration; a node that does not respond does not cause an
   *   error
   * @throws {@link CanceledError} if the signal was aborted; {@link RequestError} if your function for headers fails
   *
   * @example
   * for (const { name, state, height } of await client.status()) console.log(name, state, height);
   */
  status(options?: CallOptions): Promise<NodeStatus[]>;
  /**
   * Creates a client of any service of the node, such as one that a fork has added, with a function for each method.
   *
   * @param service the service's descriptor, as `protoc-gen-es` generates it
   * @returns Connect's client, over the same transport; its methods throw the library's errors, and have the option `retry`
   *
   * @example
   * const { height } = await client.service(CoreService).lastBlockHeight({});
   */
  service<S extends DescService>(service: S): ServiceClient<S>;
  /**
   * Creates the operations on intents: commands that are executed at most once, even if the program, the node or the
   * connections fail. They need a node that streams events.
   *
   * @param options the signer, the journal, and the form of transactions
   * @returns the operations; `close()` or `await using` ends them
   * @throws {@link RequestError} if an option is wrong
   *
   * @example
   * await using journal = await openFileJournal("orders.journal");
   * await using intents = client.intents({ signer, journal });
   * const { status } = await intents.submit(command, { id: "rebalance-17", validForBlocks: 20 });
   */
  intents(options: IntentsOptions): Intents;
  /**
   * Creates leases: when the program no longer renews them, orders expire and the network closes positions. They need a
   * data node, and a node that streams events.
   *
   * Only one program at a time may lease the orders of a key on a market.
   *
   * @param options the signer, the duration of leases, and when positions are closed
   * @returns the leases, which are renewed until `close()` or the end of `await using`; then they expire
   * @throws {@link RequestError} if an option is wrong
   *
   * @example
   * await using leases = client.leases({ signer, leaseMs: 15_000, flattenAfterMs: 20_000 });
   * const { id } = await leases.submit(units.order({ side: "BUY", type: "LIMIT", price: "1.2", size: "3" }));
   */
  leases(options: LeasesOptions): Leases;
  /**
   * Creates a guard: a signer that signs only what a policy allows. It loads the units of the policy's
   * markets, and follows the orders and positions of the key.
   *
   * @param options the signer, the policy, the chain, and a signal for the loading
   * @returns the guard; use it instead of the signer. `close()` or `await using` ends it
   * @throws {@link RequestError} if an option or the policy is wrong
   *
   * @example
   * const limits = { maxSize: "10", maxNotional: "50000", maxPosition: "25" };
   * const policy = { maxOrdersPerMinute: 60, markets: { [marketId]: limits } };
   * await using guard = await client.guard({ signer, policy });
   * await client.sendCommand(command, { signer: guard }); // Throws a PolicyError if it is beyond the policy.
   */
  guard(options: GuardOptions): Promise<Guard>;
  /** The transport. Its failures are Connect errors, whose cause is one of the library's errors. */
  readonly transport: Transport;
  /**
   * Closes all connections. Calls in flight fail immediately with an error that says so, and later calls are refused. The
   * client's leases, guards and intents end as if they were closed first.
   */
  close(): Promise<void>;
}

const rethrow = (reason: unknown): never => {
  throw reason;
};

/** Returns the checks for requests that would crash a node or halt the network. */
function requestChecks(recentBlocks: RecentBlocks): ReadonlyMap<string, RequestCheck> {
  const checkHalting: RequestCheck = (request, { header, ...call }, transport) =>
    haltingTransaction(
      request,
      (service) => createServiceClient(service, transport, () => rethrow),
      recentBlocks,
      toConnectOptions({ ...call, headers: header }),
    );
  return new Map([...crashChecks, ...TRANSACTION_METHODS.map((method) => [method, checkHalting] as const)]);
}

/**
 * Creates a client for a node.
 *
 * @param config the transport, the node's URLs, timeouts (milliseconds), retries and limits (bytes)
 * @param options Connect's interceptors, which apply to every call over any transport, and hooks
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
  const wire = openWire(readConfig(config), snapshot(options));
  const { transport, watchTransport, checked, serviceClient, failing, recentBlocks, core, data, onRetry } = wire;
  const { chainIdPrefix, orderPages } = profileRules[checked.profile];
  const requireOrder = orderPages === "newest-first" ? requireDeployedOrder : () => undefined;
  const { listRecords, ...paging } = createPaging(wire.calls, failing, requireOrder);
  const chain = { chainId: checked.chainId, isLoopback: staysOnLoopback(checked) };
  const { prepare, lastHeight, ...transactions } = createTransactions(core, {
    serviceClient,
    ...chain,
    chainIdPrefix,
    recentBlocks,
  });
  const liveCallsOver = (stream: LiveCalls["stream"]): LiveCalls => ({
    stream: (method, signal, timeoutMs, header, input, contextValues) =>
      stream(method, signal, timeoutMs, header, input, withoutRetry(contextValues)),
    service: serviceClient,
    records: paging.records,
    failing,
    retry: checked.retry,
    chainId: checked.chainId,
    onRetry: ({ method, contextValues, ...retry }) =>
      onRetry?.({ ...retry, id: callId(contextValues), method: methodName(method) }),
  });
  const live = liveCallsOver(wire.calls.stream);
  // The watch has its own connection, so that the result of a transaction arrives even if its submission's connection is lost.
  const watched = createEvents(liveCallsOver(throwingOurErrors(watchTransport, failing).stream));
  const watch = createBlockWatch(
    (signal) => watched.events({ types: ["beginBlock", "transactionResult", "stopOrder", "endBlock"] }, { signal }),
    checked.retry,
    recentBlocks.add,
  );
  const closing = new AbortController();
  const close = async () => {
    closing.abort(new DOMException("the client was closed", "AbortError"));
    watch.close();
    await Promise.all([transport.close(), watchTransport.close()]);
  };
  const node = { watch, service: serviceClient };
  const sending = { transactions: { ...transactions, prepare, lastHeight }, node, closing: closing.signal };
  const { sendUrgently, ...outcomes } = createOutcomes(sending.transactions, node, checked.chainId);

  const client: Client = withSnapshots<Client>({
    transport: readingOnce(transport),
    service(service) {
      assertDescriptor(service, "service", "TradingDataService of tradewire/api");
      assertRetryMethods(checked.retry.methods, service);
      return serviceClient(service);
    },
    ...createExports(wire),
    status: async (statusOptions) => wire.status(parseCallOptions(statusOptions)),
    dataNodeLag: async (lagOptions) => measureLag({ core, data }, parseCallOptions(lagOptions)),
    ...createFollowing({
      exportNetworkHistory: (request, exportOptions) => client.exportNetworkHistory(request, exportOptions),
      listSegments: (listOptions) => client.listSegments(listOptions),
    }),
    ...paging,
    ...createReferences(paging.records),
    ...createListings(data, listRecords, failing, requireOrder),
    ...createRecordListings(serviceClient, paging.records, listRecords),
    ...createTransactionResults(live),
    ...createUnits(serviceClient, paging.records, failing),
    ...createAccounts(live),
    ...createBooks(live),
    ...createEvents(live),
    ...transactions,
    ...outcomes,
    intents: (intentsOptions) => createIntents(sending, intentsOptions),
    leases: (leasesOptions) => createLeases({ ...sending, accounts: client }, leasesOptions),
    guard: async (guardOptions) =>
      createGuard(
        {
          transactions,
          sendUrgently,
          marketUnits: client.marketUnits,
          records: paging.records,
          service: serviceClient,
          closing: closing.signal,
          ...chain,
        },
        guardOptions,
      ),
    close,
    [Symbol.asyncDispose]: close,
  });
  return client;
}

/** The transports of a client, and its calls over them. */
type Wire = ReturnType<typeof openWire>;

/** Opens the transports of a client. They share the knowledge of the nodes. */
function openWire(checked: Config, given: TransportOptions) {
  const hooks = given.hooks === undefined ? undefined : isolateHooks(given.hooks);
  const { onRetry, onNodeChange } = hooks ?? {};
  const options = { ...given, hooks };
  let nodes: Nodes | undefined;
  const gateOf = (opened: readonly OpenNode[], isOneNode: boolean) => {
    nodes ??= watchNodes(opened, { ...checked, isOneNode }, { ...(onNodeChange && { onNodeChange }) });
    return nodes;
  };
  const recentBlocks = createRecentBlocks();
  const transport = withRequestChecks(createTransport(checked, options, gateOf), requestChecks(recentBlocks));
  const watchTransport = createTransport(checked, options, gateOf);
  const failing = failingCall(checked);
  const serviceClient = <S extends DescService>(service: S) => createServiceClient(service, transport, failing);
  return {
    checked,
    transport,
    watchTransport,
    recentBlocks,
    failing,
    serviceClient,
    onRetry,
    core: serviceClient(CoreService),
    data: serviceClient(TradingDataService),
    /** Calls that throw the library's errors. */
    calls: throwingOurErrors(transport, failing),
    status: async (statusOptions: CallOptions) => (await nodes?.status(statusOptions)) ?? [],
  };
}

function createExports({
  checked,
  calls,
  data,
  failing,
  onRetry,
}: Wire): Pick<Client, "exportNetworkHistory" | "exportLedgerEntries" | "listSegments"> {
  const { extensions } = profileRules[checked.profile];
  const { exportNetworkHistory: exportMethod, exportLedgerEntries: ledgerMethod } = TradingDataService.method;
  return {
    exportNetworkHistory(request, exportOptions = {}) {
      const { tableNumber: table, ...requested } = readExportRequest(request);
      checkExportOptions(exportOptions);
      const { signal, headers, timeoutMs } = exportOptions;
      const settings = {
        requested,
        options: { ...exportOptions, extensions: exportOptions.extensions ?? extensions },
        profile: checked.profile,
        maxArchiveBytes: checked.limits.maxArchiveBytes,
        retry: {
          ...checked.retry,
          onRetry: (retry: PartRetry) =>
            onRetry?.({ ...retry, id: callId(createContextValues()), method: methodName(exportMethod) }),
        },
      };
      return createExport(settings, {
        async open(range, callSignal, contextValues) {
          const input = createAsyncIterable([{ ...range, table }]);
          return calls.stream(exportMethod, callSignal, timeoutMs, headers, input, contextValues);
        },
        listSegments: (callSignal) => listSegments(data, { signal: callSignal, headers, timeoutMs }),
        startingOver,
        fail: failing(exportMethod, signal),
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

    listSegments: async (listOptions) => listSegments(data, parseCallOptions(listOptions)),
  };
}
