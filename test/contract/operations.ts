import { readFile, rm } from "node:fs/promises";
import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import { anyPack, StringValueSchema } from "@bufbuild/protobuf/wkt";
import { type Client, type NetworkHistoryExport, NodeError } from "tradewire";
import {
  GetNetworkParameterResponseSchema,
  GetStopOrderResponseSchema,
  ListAllNetworkHistorySegmentsResponseSchema,
  ListNetworkParametersResponseSchema,
  ListStopOrdersResponseSchema,
  TradingDataService,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { HttpBodySchema } from "tradewire/gen/google/api/httpbody_pb.js";
import {
  StopOrder_ExpiryStrategy,
  StopOrder_RejectionReason,
  StopOrder_Status,
  StopOrder_TriggerDirection,
} from "tradewire/gen/vega/vega_pb.js";
import { csvZip, cutEvery } from "../support/archives.js";
import { collect } from "../support/listing-clients.js";

/** What a caller of an operation chooses. */
export interface TakeOptions {
  readonly signal?: AbortSignal;
  /** A folder of this call's own. */
  readonly folder: string;
  /** Told whenever a part of the result has come. */
  readonly onPart: () => void;
}

/** An operation of the client, as its callers use it. */
export interface Operation {
  readonly name: string;
  /** The method that is called. */
  readonly method: DescMethod;
  /** What the node answers. */
  readonly messages: readonly Message[];
  /** Call it, and give back all that a caller can see of the result. */
  take(client: Client, options: TakeOptions): Promise<unknown>;
  /** What that is; `raw` where it came as the archive itself, which can carry no extensions. */
  result(raw: boolean): unknown;
}

const request = { table: "trades", fromBlock: 1, toBlock: 3000 } as const;
const NAME = "chain-1-trades-1-3000";
export const DISPOSITION = `attachment;filename=${NAME}.zip`;
export const archive = await csvZip(30_000, `${NAME}.csv`);
const sent = anyPack(StringValueSchema, create(StringValueSchema, { value: "all rows" }));
const extensions = [{ "@type": "type.googleapis.com/google.protobuf.StringValue", value: "all rows" }];

export const listing = create(ListAllNetworkHistorySegmentsResponseSchema, {
  segments: [1001n, 1n].map((fromHeight) => ({
    fromHeight,
    toHeight: fromHeight + 999n,
    historySegmentId: `Qm-${fromHeight}`,
    databaseVersion: 2n ** 62n + 1n,
    chainId: "chaîne-1",
  })),
});

const parameters = create(ListNetworkParametersResponseSchema, {
  networkParameters: {
    edges: [
      { cursor: "YQ==", node: { key: "blockchains.ethereumConfig", value: "«Größe» 日本 ".repeat(20) } },
      { cursor: "Yg==", node: { key: "spam.pow.difficulty", value: "15" } },
    ],
    pageInfo: { startCursor: "YQ==", endCursor: "Yg==", hasPreviousPage: true },
  },
});

const stopOrders = create(ListStopOrdersResponseSchema, {
  orders: {
    edges: [
      {
        cursor: "Yw==",
        node: {
          stopOrder: {
            id: "a1",
            ocoLinkId: "a2",
            expiresAt: 2n ** 62n + 1n,
            expiryStrategy: StopOrder_ExpiryStrategy.SUBMIT,
            triggerDirection: StopOrder_TriggerDirection.FALLS_BELOW,
            status: StopOrder_Status.REJECTED,
            createdAt: 1_697_702_400_000_000_001n,
            rejectionReason: StopOrder_RejectionReason.EXPIRY_IN_THE_PAST,
            sizeOverrideValue: { percentage: "0.5" },
            trigger: { case: "trailingPercentOffset", value: "0.01" },
          },
          submission: {
            size: 2n ** 64n - 1n,
            price: "123456",
            icebergOpts: { peakSize: 5n },
            peggedOrder: { offset: "1" },
          },
        },
      },
    ],
    pageInfo: { startCursor: "Yw==", endCursor: "Yw==" },
  },
});

const parameter = create(GetNetworkParameterResponseSchema, {
  networkParameter: parameters.networkParameters?.edges[0]?.node,
});
const stopOrder = create(GetStopOrderResponseSchema, { order: stopOrders.orders?.edges[0]?.node });

/** The messages of an export: an archive in chunks, the first of which carries extensions. */
export function chunksOf(bytes: Uint8Array, size = 7000) {
  return cutEvery(Buffer.from(bytes), size).map((data, index) =>
    create(HttpBodySchema, { contentType: "application/zip", data, extensions: index === 0 ? [sent] : [] }),
  );
}

function exporting(
  name: string,
  take: (exported: NetworkHistoryExport, options: TakeOptions) => Promise<unknown>,
  result: (extensions: unknown[]) => unknown,
): Operation {
  return {
    name,
    method: TradingDataService.method.exportNetworkHistory,
    messages: chunksOf(archive),
    take: (client, options) => {
      const { signal, onPart } = options;
      return take(client.exportNetworkHistory(request, { signal, onProgress: onPart }), options);
    },
    result: (raw) => result(raw ? [] : extensions),
  };
}

/** The operations: one entry each. */
export const operations: readonly Operation[] = [
  {
    name: "listSegments",
    method: TradingDataService.method.listAllNetworkHistorySegments,
    messages: [listing],
    take: (client, { signal }) => client.listSegments(signal && { signal }),
    result: () => listing.segments.toReversed(),
  },
  {
    name: "listNetworkParameters",
    method: TradingDataService.method.listNetworkParameters,
    messages: [parameters],
    take: (client, { signal }) => client.listNetworkParameters({ pagination: { first: 2 } }, signal && { signal }),
    result: () => parameters,
  },
  {
    name: "networkParameters",
    method: TradingDataService.method.listNetworkParameters,
    messages: [parameters],
    take: (client, { signal }) => collect(client.networkParameters({ signal })),
    result: () => parameters.networkParameters?.edges.map(({ cursor, node }) => ({ cursor, node })),
  },
  {
    name: "networkParameter",
    method: TradingDataService.method.getNetworkParameter,
    messages: [parameter],
    take: (client, { signal }) => client.networkParameter("blockchains.ethereumConfig", signal && { signal }),
    result: () => parameter.networkParameter,
  },
  {
    name: "listStopOrders",
    method: TradingDataService.method.listStopOrders,
    messages: [stopOrders],
    take: (client, { signal }) => client.listStopOrders({ filter: { statuses: ["PENDING"] } }, signal && { signal }),
    result: () => stopOrders,
  },
  {
    name: "stopOrders",
    method: TradingDataService.method.listStopOrders,
    messages: [stopOrders],
    take: (client, { signal }) => collect(client.stopOrders({}, { signal })),
    result: () =>
      stopOrders.orders?.edges.map(({ cursor, node }) => ({
        ...node,
        submission: {
          ...node?.submission,
          price: 123456n,
          peggedOrder: { ...node?.submission?.peggedOrder, offset: 1n },
        },
        decimals: {},
        cursor,
      })),
  },
  {
    name: "stopOrder",
    method: TradingDataService.method.getStopOrder,
    messages: [stopOrder],
    take: (client, { signal }) => client.stopOrder("a1", signal && { signal }),
    result: () => stopOrder.order,
  },
  exporting(
    "chunks()",
    async (exported) => {
      const data: Uint8Array[] = [];
      const seen = { extensions: [] as unknown[], contentTypes: new Set<string>(), error: undefined as unknown };
      try {
        for await (const { result, error } of exported.chunks()) {
          seen.error = error;
          data.push(result?.data ?? Buffer.alloc(0));
          seen.extensions.push(...(result?.extensions ?? []));
          seen.contentTypes.add(result?.contentType ?? "none");
        }
      } catch (reason) {
        // What the node answered is the last chunk, and is thrown too.
        if ((reason instanceof NodeError ? reason.object : undefined) !== seen.error) {
          throw new Error("the last chunk is not the error", { cause: reason });
        }
        throw reason;
      }
      return { archive: Buffer.concat(data).equals(archive), ...seen };
    },
    (found) => ({ archive: true, extensions: found, contentTypes: new Set(["application/zip"]), error: undefined }),
  ),
  exporting(
    "bytes()",
    async (exported) => {
      const data: Uint8Array[] = [];
      for await (const bytes of exported.bytes()) {
        data.push(bytes);
      }
      return Buffer.concat(data).equals(archive);
    },
    () => true,
  ),
  exporting(
    "saveTo()",
    async (exported, { folder }) => {
      const { path, entries, extensions: found, ...saved } = await exported.saveTo(`${folder}/`);
      const whole = (await readFile(path)).equals(archive) && saved.bytes === archive.length;
      await rm(path);
      return { whole, name: path.slice(folder.length + 1), files: entries.map((entry) => entry.name), found };
    },
    (found) => ({ whole: true, name: `${NAME}.zip`, files: [`${NAME}.csv`], found }),
  ),
  exporting(
    "toZip()",
    async (exported) => Object.keys((await exported.toZip()).files),
    () => [`${NAME}.csv`],
  ),
];

/** Whether an operation's answer streams. */
export function streams({ method }: Operation): boolean {
  return method.methodKind === "server_streaming";
}
