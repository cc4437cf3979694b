import type { DescMethod } from "@bufbuild/protobuf";
import {
  type CallOptions,
  ConnectError,
  createClient as createConnectClient,
  createContextValues,
  type Transport,
} from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { type HistorySegment, TradingDataService } from "../gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "../gen/vega/api/v1/core_pb.js";
import type { ExportedRange } from "./archive/names.js";
import { type ClientConfig, readConfig } from "./config/schema.js";
import { TradewireError } from "./errors/index.js";
import {
  createExport,
  type ExportOptions,
  type ExportProgress,
  type NetworkHistoryExport,
  type SavedExport,
} from "./history/export.js";
import { type ExportRequest, rangeToExport, readExportRequest } from "./history/request.js";
import { listSegments } from "./history/segments.js";
import { createListings, type Listings } from "./listing/listings.js";
import { createTransactions, type Transactions } from "./transaction/transactions.js";
import { createTransport, mainEndpoint, type TransportOptions } from "./transport/index.js";
import { callError, failingWith } from "./transport/layers/failure.js";
import { avoidedTransports, isElsewhere } from "./transport/layers/fallback.js";
import { methodName } from "./transport/method-name.js";

/** The interface of a node, the same over every transport. */
export interface Client extends Listings, Transactions, AsyncDisposable {
  /**
   * Export one table of network history between two blocks (specification, 4.1).
   *
   * Nothing is sent before the export is consumed.
   *
   * @throws {@link RequestError} where the table, a block or the range cannot be right
   */
  exportNetworkHistory(request: ExportRequest, options?: ExportOptions): NetworkHistoryExport;
  /** List the segments of network history that the node holds, oldest first. */
  listSegments(options?: Pick<CallOptions, "signal">): Promise<HistorySegment[]>;
  /** The transport underneath, for services of one's own: Connect's `createClient(service, client.transport)`. */
  readonly transport: Transport;
  /** Close all connections; calls under way fail. */
  close(): Promise<void>;
}

/**
 * Make a client of a node.
 *
 * @param config which transport to use, and where the node is
 * @param options Connect's interceptors, applied to every call over either transport
 * @throws {@link RequestError} where the configuration is wrong
 *
 * @example
 * const client = createClient({ transport: "grpc", grpc: { url: "http://127.0.0.1:3007" } });
 * const request = { table: "trades", fromBlock: 1, toBlock: 3000 } as const;
 * const { path, sha256 } = await client.exportNetworkHistory(request).saveTo("archives/");
 */
export function createClient(config: ClientConfig, options: TransportOptions = {}): Client {
  const checked = readConfig(config);
  const transport = createTransport(checked, options);
  const endpoint = mainEndpoint(checked);
  const service = createConnectClient(TradingDataService, transport);

  function failing(method: DescMethod, signal: AbortSignal | undefined) {
    const context = { transport: endpoint.name, url: endpoint.url, method: methodName(method), signal };
    return (reason: unknown): never => {
      // What a caller's own function threw is the caller's.
      throw reason instanceof ConnectError || reason instanceof TradewireError ? callError(reason, context) : reason;
    };
  }

  function segmentsOf({ signal, headers }: Pick<ExportOptions, "signal" | "headers">): Promise<HistorySegment[]> {
    return listSegments(service, {
      ...(signal === undefined ? {} : { signal }),
      ...(headers === undefined ? {} : { headers }),
    }).catch(failing(TradingDataService.method.listAllNetworkHistorySegments, signal));
  }

  return {
    transport,

    exportNetworkHistory(request, exportOptions = {}) {
      const { tableNumber, ...asked } = readExportRequest(request);
      let taken: Promise<ExportedRange> | undefined;
      const takeRange = () => {
        taken ??= rangeToExport(asked, exportOptions, () => segmentsOf(exportOptions)).catch((reason: unknown) => {
          taken = undefined;
          throw reason;
        });
        return taken;
      };
      const method = TradingDataService.method.exportNetworkHistory;
      const fail = failing(method, exportOptions.signal);
      const over = (avoided: readonly string[], onProgress = exportOptions.onProgress) =>
        createExport(
          async ({ fromBlock, toBlock }, signal) => {
            const { headers } = exportOptions;
            const message = { fromBlock, toBlock, table: tableNumber };
            const contextValues = createContextValues().set(avoidedTransports, avoided);
            const response = await transport
              .stream(method, signal, undefined, headers, createAsyncIterable([message]), contextValues)
              .catch(fail);
            return { header: response.header, messages: failingWith(response.message, fail) };
          },
          takeRange,
          { ...exportOptions, onProgress },
          checked.limits.maxArchiveBytes,
          fail,
        );

      /** Nothing of a file has been handed out when it fails, so it may be fetched again over another transport. */
      async function saveTo(target: string, saveOptions?: { readonly force?: boolean }): Promise<SavedExport> {
        let begun = false;
        const onProgress = (progress: ExportProgress) => {
          begun = true;
          exportOptions.onProgress?.(progress);
        };
        try {
          return await over([], onProgress).saveTo(target, saveOptions);
        } catch (reason) {
          const failedOver = reason instanceof TradewireError && isElsewhere(reason) ? reason.transport : undefined;
          if (!begun || checked.transport !== "auto" || failedOver !== "grpc" || !(reason instanceof TradewireError)) {
            return fail(reason);
          }
          options.hooks?.onFallback?.({ method: methodName(method), from: "grpc", to: "rest", error: reason });
          return await over([failedOver]).saveTo(target, saveOptions).catch(fail);
        }
      }

      const exported = over([]);
      return {
        range: exported.range,
        chunks: () => failingWith(exported.chunks(), fail),
        bytes: () => failingWith(exported.bytes(), fail),
        saveTo,
        files: () => exported.files(),
        rows: (rowOptions) => exported.rows(rowOptions),
        toZip: () => exported.toZip().catch(fail),
      };
    },

    listSegments: (listOptions = {}) => segmentsOf(listOptions),

    ...createListings(service, failing),
    ...createTransactions(createConnectClient(CoreService, transport), failing),

    close: () => transport.close(),
    [Symbol.asyncDispose]: () => transport.close(),
  };
}
