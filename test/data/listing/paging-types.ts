import type { DescMethodUnary, Message } from "@bufbuild/protobuf";
import type { GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import { type Client, type ListedRecord, pages, records } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import type { StakeLinking } from "tradewire/gen/vega/events/v1/events_pb.js";
import type { Order } from "tradewire/gen/vega/vega_pb.js";

const { method } = TradingDataService;

type Book = Message<"library.Book"> & { readonly title: string };
type Request = Message<"library.Request"> & { readonly pageSize: number; readonly pageToken: string };
type Response = Message<"library.Response"> & { books: Book[]; unreachable: string[]; nextPageToken: string };
type Tags = Message<"library.Tags"> & { tags: string[]; nextPageToken: string };
/** A service with the pages of AIP-158, also of texts, and a method that lacks their token. */
declare const library: GenService<{
  listBooks: { methodKind: "unary"; input: GenMessage<Request>; output: GenMessage<Response> };
  listTags: { methodKind: "unary"; input: GenMessage<Request>; output: GenMessage<Tags> };
  getBook: { methodKind: "unary"; input: GenMessage<Request>; output: GenMessage<Book> };
}>;

/** Is never run: the compiler holds these to their types. */
export async function heldByCompiler(client: Client): Promise<void> {
  const orders: AsyncIterable<ListedRecord<Order>> = client.records(method.listOrders, { filter: { liveOnly: true } });
  for await (const { stakeLinkings, currentStakeAvailable } of client.pages(method.getStake, { partyId: "" })) {
    const amount: string = currentStakeAvailable;
    const node: StakeLinking | undefined = stakeLinkings?.edges[0]?.node;
    void [amount, node];
  }
  const some: DescMethodUnary = method.listOrders;
  const untold: AsyncIterable<ListedRecord<Message>> = client.records(some);
  // @ts-expect-error Records are of the method's own type.
  const trades: AsyncIterable<ListedRecord<Order>> = client.records(method.listTrades);
  // @ts-expect-error The request is of the method's own type.
  client.records(method.listOrders, { liveOnly: true });
  // @ts-expect-error This answer has no cursors.
  client.records(method.listRewardSummaries);
  // @ts-expect-error This method has no pagination.
  client.pages(CoreService.method.lastBlockHeight);
  // @ts-expect-error This method streams.
  client.records(method.observeOrders);
  const books: AsyncIterable<ListedRecord<Book>> = records(client.transport, library.method.listBooks, { pageSize: 2 });
  for await (const { tags } of pages(client.transport, library.method.listTags, { pageSize: 2 })) {
    const [tag]: string[] = tags;
    void tag;
  }
  // @ts-expect-error Its pages list no messages.
  records(client.transport, library.method.listTags);
  // @ts-expect-error This answer has no page token.
  records(client.transport, library.method.getBook);
  void [orders, untold, trades, books];
}
