// What the examples of doc comments take for granted, beside given.js. It is compiled and never run.
import type { Duplex } from "node:stream";
import type { Message } from "@bufbuild/protobuf";
import type { GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type {
  Archive,
  Client,
  DecimalOrder,
  ExportChunk,
  ExportRequest,
  Intents,
  Journal,
  Leases,
  MarketUnits,
  Policy,
  TableName,
  Transaction,
} from "tradewire";
import type { Devnode } from "tradewire/devnode";
import type { OrderSubmission } from "tradewire/gen/vega/commands/v1/commands_pb.js";
import type { StopOrder } from "tradewire/gen/vega/vega_pb.js";
import type { CoverageComparison, NodeHistory, Sink, Unit } from "tradewire/sync";
import type { SinkHost } from "tradewire/sync/contract";
import type { ActiveSet } from "../../src/base/signal/collections.js";
import type { OpenStreams } from "../../src/node/data/streams.js";
import type { EngineOptions } from "../../src/node/engine/initial-state.js";

export { createReadStream, createWriteStream } from "node:fs";
export { writeFile } from "node:fs/promises";
export { pipeline } from "node:stream/promises";
export { create, toBinary } from "@bufbuild/protobuf";
export { default as pg } from "pg";
export { AccountType } from "../../gen/vega/vega_pb.js";
export { generateHistory } from "../../src/node/generated-history/generated-history.js";

export declare const node: Devnode;
export declare const clients: readonly Client[];
export declare const request: ExportRequest;
export declare const archive: Archive;
export declare const chunks: AsyncIterable<ExportChunk>;
export declare const chunk: Uint8Array;
export declare const file: Duplex;
export declare const abort: AbortController;

// Transactions.
export declare const tx: Transaction;
export declare const transaction: Transaction;
export declare const txHash: string;
export declare const hash: string;
export declare const blockHash: string;
export declare const tid: string;
export declare const signature: Uint8Array;
export declare const message: Uint8Array;
export declare const seed: Uint8Array;
export declare const words: string;
export declare const orderId: string;
export declare const stopOrder: StopOrder;
export declare const units: MarketUnits;
export declare const intents: Intents;
export declare const leases: Leases;
export declare const policy: Policy;
export declare const order: DecimalOrder;
export declare const connectionString: string;
export declare function openMyJournal(place: string): Promise<Journal>;

// Configuration.
export declare const tokens: { current(signal: AbortSignal): Promise<string> };

// Tables.
export declare const database: { query(statement: string): Promise<unknown> };
export declare const tables: readonly TableName[];
export declare const sink: Sink;
export declare const history: NodeHistory;
export declare const comparison: CoverageComparison;
export declare const unit: Unit;
export declare function test(name: string, run: () => Promise<void>): void;
export declare function newPlace(): Promise<string>;
export declare function mySink(place: string): Sink;
export declare function readMyTable(place: string, table: TableName): ReturnType<SinkHost["readRows"]>;

// The local node.
export declare const start: EngineOptions;
export declare const events: unknown[];
export declare const time: bigint;
export declare const submission: OrderSubmission;
export declare const asset: string;
export declare const streams: OpenStreams;

// Transports.
export declare const activeCalls: ActiveSet<object>;
export declare const call: object;
type Book = Message<"library.Book"> & { readonly title: string };
type BookRequest = Message<"library.GetBookRequest"> & { readonly name: string };
type ListBooksRequest = Message<"library.ListBooksRequest"> & {
  readonly parent: string;
  readonly pageSize: number;
  readonly pageToken: string;
};
type ListBooksResponse = Message<"library.ListBooksResponse"> & {
  readonly books: Book[];
  readonly nextPageToken: string;
  readonly totalSize: number;
};
export declare const LibraryService: GenService<{
  getBook: { methodKind: "unary"; input: GenMessage<BookRequest>; output: GenMessage<Book> };
  listBooks: { methodKind: "unary"; input: GenMessage<ListBooksRequest>; output: GenMessage<ListBooksResponse> };
}>;
