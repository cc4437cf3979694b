// Which pages of orders and stop orders the client asks for, beside what the real network gave (recorded/listings.json).
import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { type Client, createClient, NodeError, type PaginationRequest, RequestError } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { startPlayingNode } from "./playing-node.js";
import { type RecordedCall, type RecordedError, readRecorded } from "./recorded.js";

const { cases } = await readRecorded<RecordedCall & { readonly error?: RecordedError }>("listings");
/** What the network said to pages in an order that it does not give. */
const REFUSED = /'last' pagination is not supported|oldest first order query is not currently supported/;
const refused = (method: string) =>
  cases.filter(
    ({ method: of, error }) => of.endsWith(`/${method}`) && REFUSED.test(error?.details?.[0]?.message ?? ""),
  );
const paginationOf = ({ request }: { readonly request: JsonObject }) => request["pagination"] as PaginationRequest;

/** Calls a node that plays a recorded answer, and tells what became of the call, and what the node was asked. */
async function ask(
  profile: "deployed" | "specification",
  call: RecordedCall,
  act: (client: Client) => Promise<unknown>,
) {
  await using node = await startPlayingNode();
  await using client = createClient({ transport: "rest", rest: { url: node.restUrl }, profile, retry: { tries: 1 } });
  node.play(call);
  const error: unknown = await act(client).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { error, asked: node.asked };
}

describe("pages of stop orders that the network refused", () => {
  const recorded = refused("ListStopOrders").filter(({ name }) => !name.endsWith("last and after")); // Never sent.

  it.each(recorded.map((call) => [call.name, call] as const))("%s", async (_, call) => {
    const list = (client: Client) => client.listStopOrders({ pagination: paginationOf(call) });
    const deployed = await ask("deployed", call, list);
    expect(deployed.error).toBeInstanceOf(RequestError);
    expect(String(deployed.error)).toMatch(/ListStopOrders: deployed nodes|deployed nodes .* for ListStopOrders/);
    expect(deployed.asked).toEqual([]);
    const specified = await ask("specification", call, list); // The specification has them (2.1, 4.4).
    expect(specified.error).toBeInstanceOf(NodeError);
    expect(specified.error).toMatchObject({ code: call.error?.code });
    expect(specified.asked).toHaveLength(1);
  });

  it("are of both kinds", () => {
    expect(new Set(recorded.map(({ error }) => error?.code))).toEqual(new Set([Code.InvalidArgument, Code.Internal]));
  });
});

describe("all pages, the oldest first", () => {
  const [orders] = refused("ListOrders").filter(({ name }) => name.endsWith(", oldest"));
  const [stopOrders] = refused("ListStopOrders").filter(({ name }) => name.endsWith(", oldest"));
  const newestFirst = false;

  it.each([
    [
      "orders",
      orders,
      (client: Client) => client.records(TradingDataService.method.listOrders, { pagination: { newestFirst } }),
    ],
    [
      "pages of orders",
      orders,
      (client: Client) => client.pages(TradingDataService.method.listOrders, { pagination: { newestFirst } }),
    ],
    ["stop orders", stopOrders, (client: Client) => client.stopOrders({}, { newestFirst })],
  ] as const)("of %s are refused at once", async (_, call, list) => {
    if (call === undefined) {
      throw new Error("not recorded");
    }
    const first = async (client: Client) => list(client)[Symbol.asyncIterator]().next();
    const deployed = await ask("deployed", call, first);
    expect(deployed.error).toBeInstanceOf(RequestError);
    expect(deployed.asked).toEqual([]);
    const specified = await ask("specification", call, first);
    expect(specified.error).toMatchObject({ code: Code.Internal });
    expect(specified.asked).toHaveLength(1);
  });
});

it("pages in the order that the network gives are asked for", async () => {
  const given = cases.filter(
    ({ method, name, error }) =>
      method.endsWith("/ListStopOrders") && error === undefined && /, (newest|first 2 newest)$/.test(name),
  );
  expect(given).toHaveLength(2);
  for (const call of given) {
    const { name, node, method, request } = call;
    const played = { name, node, method, request, answer: { orders: { edges: [], pageInfo: {} } } };
    const list = (client: Client) => client.listStopOrders({ pagination: paginationOf(call) });
    expect(await ask("deployed", played, list)).toEqual({ error: undefined, asked: [expect.any(String)] });
  }
});
