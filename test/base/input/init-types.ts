import type { JsonObject, Message } from "@bufbuild/protobuf";
import type { GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import {
  type Client,
  type CommandInit,
  type InitOf,
  type MarketUnits,
  Order_Type,
  Side,
  type Signer,
  signerFromMnemonic,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import type { OrderSubmissionSchema } from "tradewire/gen/vega/commands/v1/commands_pb.js";
import { fallback } from "tradewire/transport";

enum Genre {
  UNSPECIFIED = 0,
  PROSE = 1,
}
type Request = Message<"library.Request"> & {
  genre: Genre;
  genres: Genre[];
  pages: number;
  copies: bigint;
  labels: { [key: string]: string };
  genresByShelf: { [key: number]: Genre };
  copiesByShelf: { [key: string]: bigint };
  note: JsonObject;
  next?: Request;
  like: { case: "genre"; value: Genre } | { case: "request"; value: Request } | { case: undefined; value?: undefined };
};
/** A service of another API, whose enums the library does not know. */
declare const library: GenService<{
  getBook: { methodKind: "unary"; input: GenMessage<Request>; output: GenMessage<Request> };
}>;

/** Is never run: the compiler holds names of enum values to the definitions. */
export async function heldByCompiler(client: Client, signer: Signer, units: MarketUnits): Promise<void> {
  const order = { marketId: "", size: 1n, price: "1", side: "BUY", type: "TYPE_LIMIT", timeInForce: "GTC" } as const;
  await client.sendCommand({ case: "orderSubmission", value: order }, { signer });
  await client.sendCommand({ case: "orderSubmission", value: { ...order, side: Side.BUY } }, { signer });
  await client.sendCommand({ case: "batchMarketInstructions", value: { submissions: [order] } }, { signer });
  const half = { orderSubmission: order, trigger: { case: "price", value: "1" }, expiryStrategy: "SUBMIT" } as const;
  await client.sendCommand({ case: "stopOrdersSubmission", value: { risesAbove: half } }, { signer });
  await client.sendCommand(units.order({ side: "SELL", type: Order_Type.LIMIT, timeInForce: "GTC", size: "1" }), {
    signer,
  });
  const command: CommandInit = { case: "voteSubmission", value: { proposalId: "", value: "YES" } };
  const filter: InitOf<typeof OrderSubmissionSchema> = { side: "SIDE_SELL" };
  const data = client.service(TradingDataService);
  const { orders } = await data.listOrders({ filter: { statuses: ["ACTIVE", 2], types: [Order_Type.LIMIT] } });
  client.records(TradingDataService.method.listOrders, { filter: { timeInForces: ["TIME_IN_FORCE_GTC"] } });
  const side: Side | undefined = orders?.edges[0]?.node?.side;
  const books = client.service(library);
  const book = await books.getBook({ genre: "PROSE", genres: [Genre.PROSE, "PROSE"], labels: { a: "b" } });
  await books.getBook({ genresByShelf: { 5: "PROSE", 6: Genre.PROSE }, copiesByShelf: { a: 5, b: 5n }, copies: 5 });
  await books.getBook({ like: { case: "genre", value: "PROSE" }, note: { a: [1, null] }, pages: undefined });
  await books.getBook({
    ...book,
    genre: "PROSE",
    next: { ...book, genre: "PROSE" },
    like: { case: "request", value: book },
  });
  const none = {
    signal: undefined,
    headers: undefined,
    timeoutMs: undefined,
    onHeader: undefined,
    onTrailer: undefined,
  };
  await books.getBook({}, { ...none, contextValues: undefined, retry: undefined });

  await signerFromMnemonic("", { index: undefined, passphrase: undefined });
  await client.leases({ signer, leaseMs: 1 }).release({ orders: undefined, positions: undefined });
  fallback([], { strategy: undefined, pauseMs: undefined, maxPauseMs: undefined, hooks: undefined });

  // @ts-expect-error The name is misspelt.
  await client.sendCommand({ case: "orderSubmission", value: { ...order, side: "BYU" } }, { signer });
  // @ts-expect-error The name is of another enum.
  await client.sendCommand({ case: "orderSubmission", value: { ...order, side: "GTC" } }, { signer });
  // @ts-expect-error The name in an inner message is misspelt.
  await client.sendCommand({ case: "batchMarketInstructions", value: { submissions: [{ side: "BYU" }] } }, { signer });
  // @ts-expect-error The name is misspelt.
  units.order({ side: "BYU", size: "1" });
  // @ts-expect-error The name in a list is misspelt.
  await data.listOrders({ filter: { statuses: ["ACTIV"] } });
  // @ts-expect-error The name in the request of records is misspelt.
  client.records(TradingDataService.method.listOrders, { filter: { statuses: ["ACTIV"] } });
  // @ts-expect-error A number is no name.
  await books.getBook({ pages: "1" });
  // @ts-expect-error Text is no integer.
  await books.getBook({ copies: "1" });
  // @ts-expect-error Not even in a map.
  await books.getBook({ copiesByShelf: { a: "1" } });
  // @ts-expect-error A field is misspelt.
  await books.getBook({ gener: "PROSE" });
  // @ts-expect-error A case is misspelt.
  await books.getBook({ like: { case: "gener", value: "PROSE" } });
  // @ts-expect-error A message of another type.
  await books.getBook({ next: orders?.edges[0]?.node ?? {} });
  void [command, filter, side];
}
