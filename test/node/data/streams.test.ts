import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import { LedgerMovementsSchema, TransactionResultSchema } from "tradewire/gen/vega/events/v1/events_pb.js";
import { MarginLevelsSchema } from "tradewire/gen/vega/vega_pb.js";
import { eventually } from "../../support/eventually.js";
import { failureOf } from "../../support/failure-of.js";
import { account, historyOf, id, market, marketData, order, position, trade } from "../living-world.js";
import { type DataService, serveData } from "./data-service.js";
import type { Event } from "./inside.js";

const active = { status: 1 } as const;
const orderEvent = (number: number, fields: Parameters<typeof order>[1] = active): Event => ({
  case: "order",
  value: order(number, fields),
});
const tradeEvent = (number: number, fields: Parameters<typeof trade>[1] = {}): Event => ({
  case: "trade",
  value: trade(number, fields),
});

/** Read a stream answer by answer. */
function reader<M>(open: (options: { readonly signal: AbortSignal }) => AsyncIterable<M>) {
  const abort = new AbortController();
  const answers: AsyncIterator<M, unknown> = open({ signal: abort.signal })[Symbol.asyncIterator]();
  return {
    async next(): Promise<M | undefined> {
      const answer = await answers.next();
      return answer.done === true ? undefined : answer.value;
    },
    end: () => abort.abort(),
  };
}

describe("streams tell what happens", () => {
  test("orders: the live ones in pages, then each change", async () => {
    const orders = Array.from({ length: 52 }, (_, number) => order(number + 100, active));
    const { data, happen } = serveData(historyOf({ start: { orders } }));
    const answers = reader((options) => data.observeOrders({}, options));
    const next = async () => (await answers.next())?.response;
    expect(await next()).toMatchObject({ case: "snapshot", value: { lastPage: false } });
    // The rest of the snapshot is what stood when the stream opened, and what comes meanwhile is not lost.
    happen(orderEvent(7), tradeEvent(1), orderEvent(100, { status: 3, version: 2n }));
    const page = await next();
    expect(page).toMatchObject({ case: "snapshot", value: { lastPage: true } });
    expect(page?.value?.orders.map((each) => each.id)).toEqual([id(150), id(151)]);
    happen();
    happen(tradeEvent(2));
    happen(orderEvent(8));
    const first = await next();
    expect(first?.case).toBe("updates");
    expect(first?.value?.orders.map((each) => [each.id, each.status])).toEqual([
      [id(7), 1],
      [id(100), 3],
    ]);
    expect((await next())?.value?.orders.map((each) => each.id)).toEqual([id(8)]);
    answers.end();
    await expect(answers.next()).rejects.toMatchObject({ code: Code.Canceled });
  });

  test("orders of a market and a party alone, and without those of liquidity", async () => {
    const start = { orders: [order(1, active), order(2, { ...active, marketId: id(9) })] };
    const { data, happen } = serveData(historyOf({ start }));
    const request = { marketIds: [id(9)], partyIds: [id(2)], excludeLiquidity: true };
    const answers = reader((options) => data.observeOrders(request, options));
    expect((await answers.next())?.response.value?.orders.map((each) => each.id)).toEqual([id(2)]);
    const here = { ...active, marketId: id(9) };
    happen(
      orderEvent(3, active),
      orderEvent(4, here),
      orderEvent(5, { ...here, partyId: id(8) }),
      orderEvent(6, { ...here, liquidityProvisionId: id(7) }),
    );
    expect((await answers.next())?.response.value?.orders.map((each) => each.id)).toEqual([id(4)]);
    answers.end();
  });

  test("trades as they happen, of either party", async () => {
    const { data, happen, streams } = serveData(historyOf());
    const answers = reader((options) => data.observeTrades({ partyIds: [id(5)] }, options));
    const first = answers.next();
    await eventually(() => streams.open("trade") === 1);
    happen(tradeEvent(1));
    happen(tradeEvent(2, { buyer: id(5) }), tradeEvent(3), tradeEvent(4, { seller: id(5) }));
    expect((await first)?.trades.map((each) => each.id)).toEqual([id(2), id(4)]);
    answers.end();
    await eventually(() => streams.open("trade") === 0);
  });

  test("accounts and positions", async () => {
    const start = { accounts: [account(1), account(2, { owner: id(3) })], positions: [position(id(2), id(1), 5n)] };
    const { data, happen } = serveData(historyOf({ start }));
    const accounts = reader((options) => data.observeAccounts({ partyId: id(2) }, options));
    const positions = reader((options) => data.observePositions({ marketId: id(1) }, options));
    expect((await accounts.next())?.response).toMatchObject({
      case: "snapshot",
      value: { accounts: [{ owner: id(2), balance: "100" }], lastPage: true },
    });
    expect((await positions.next())?.response).toMatchObject({
      case: "snapshot",
      value: { positions: [{ openVolume: 5n }], lastPage: true },
    });
    happen(
      { case: "account", value: account(1, { balance: "90" }) },
      { case: "account", value: account(2, { owner: id(3), balance: "110" }) },
      { case: "position", value: position(id(2), id(1), 6n), entryPriceInAsset: "0" },
      { case: "position", value: position(id(2), id(9), 1n), entryPriceInAsset: "0" },
    );
    expect((await accounts.next())?.response.value?.accounts).toMatchObject([{ balance: "90" }]);
    expect((await positions.next())?.response.value?.positions).toMatchObject([{ openVolume: 6n }]);
    accounts.end();
    positions.end();
  });

  test("margin levels of a party, and every movement of the ledger", async () => {
    const { data, happen, streams } = serveData(historyOf());
    const margins = reader((options) => data.observeMarginLevels({ partyId: id(2), marketId: id(1) }, options));
    const movements = reader((options) => data.observeLedgerMovements({}, options));
    const first = [margins.next(), movements.next()] as const;
    await eventually(() => streams.open("marginLevels") + streams.open("ledgerMovements") === 2);
    const levels = (partyId: string, marketId: string, initialMargin: string): Event => ({
      case: "marginLevels",
      value: create(MarginLevelsSchema, { partyId, marketId, initialMargin }),
    });
    const moved = (...amounts: string[]): Event => ({
      case: "ledgerMovements",
      value: create(LedgerMovementsSchema, {
        ledgerMovements: amounts.map((amount) => ({ entries: [{ amount }] })),
      }),
    });
    happen(levels(id(3), id(1), "1"), levels(id(2), id(9), "2"), levels(id(2), id(1), "3"), moved("10", "11"));
    happen(moved("12"));
    expect((await first[0])?.marginLevels).toMatchObject({ partyId: id(2), initialMargin: "3" });
    const amounts = [await first[1], await movements.next(), await movements.next()];
    expect(amounts.map((message) => message?.ledgerMovement?.entries[0]?.amount)).toEqual(["10", "11", "12"]);
    margins.end();
    movements.end();
  });

  test("an empty snapshot is one page", async () => {
    const { data } = serveData(historyOf());
    const answers = reader((options) => data.observeAccounts({}, options));
    expect((await answers.next())?.response).toMatchObject({
      case: "snapshot",
      value: { accounts: [], lastPage: true },
    });
    answers.end();
  });

  test("market data", async () => {
    const start = { markets: [market(1), market(2)], marketData: [marketData(1), marketData(2, { markPrice: "2" })] };
    const { data, happen, streams } = serveData(historyOf({ start }));
    const answers = reader((options) => data.observeMarketsData({ marketIds: [id(2)] }, options));
    const first = answers.next(); // The stream opens when it is read, and begins with the first change.
    await eventually(() => streams.open("marketData") === 1);
    happen({ case: "marketData", value: marketData(1, { markPrice: "3" }) });
    happen({ case: "marketData", value: marketData(2, { markPrice: "4" }) });
    expect((await first)?.marketData).toMatchObject([{ market: id(2), markPrice: "4" }]);
    answers.end();
  });

  test("order books, whole and what changes on them", async () => {
    const level = (price: string, volume: bigint) => ({ price, volume, numberOfOrders: 1n });
    const { data, happen, books, streams } = serveData(historyOf({ start: { markets: [market(1), market(2)] } }));
    books.set(id(1), { buy: [level("9", 1n), level("8", 2n)], sell: [level("11", 1n)], sequenceNumber: 7n });
    const whole = reader((options) => data.observeMarketsDepth({ marketIds: [id(1)] }, options));
    const updates = reader((options) => data.observeMarketsDepthUpdates({ marketIds: [id(1)] }, options));
    const [book, update] = [whole.next(), updates.next()]; // The streams open when they are read.
    await eventually(() => streams.open("marketDepth") + streams.open("marketDepthUpdates") === 2);
    happen(orderEvent(1)); // The book stays as it is.
    books.set(id(1), { buy: [level("10", 4n), level("9", 3n)], sell: [level("11", 1n)], sequenceNumber: 12n });
    happen(orderEvent(2), orderEvent(3));
    books.set(id(1), {}); // What was told of the block is what it led to.
    expect((await update)?.update).toMatchObject([
      {
        marketId: id(1),
        buy: [level("10", 4n), level("9", 3n), { price: "8", volume: 0n, numberOfOrders: 0n }],
        sell: [],
        sequenceNumber: 12n,
        previousSequenceNumber: 7n,
      },
    ]);
    expect((await book)?.marketDepth).toMatchObject([
      { marketId: id(1), buy: [{ price: "9" }, { price: "8" }], sell: [{ price: "11" }], sequenceNumber: 7n },
    ]);
    expect((await whole.next())?.marketDepth).toMatchObject([
      { buy: [{ price: "10" }, { price: "9" }], sequenceNumber: 12n },
    ]);
    books.set(id(1), { buy: [level("10", 4n), level("9", 2n)], sell: [level("12", 1n)], sequenceNumber: 13n });
    happen(orderEvent(4));
    expect((await updates.next())?.update).toMatchObject([
      {
        buy: [level("9", 2n)],
        sell: [level("12", 1n), { price: "11", volume: 0n, numberOfOrders: 0n }],
        sequenceNumber: 13n,
        previousSequenceNumber: 12n,
      },
    ]);
    whole.end();
    updates.end();
  });

  // LatestEvent of the real node, as all that follows.
  test("of markets that are not asked for, nothing", async () => {
    const { data, happen, streams } = serveData(historyOf({ start: { markets: [market(1)] } }));
    const answers = reader((options) => data.observeMarketsData({ marketIds: [] }, options));
    const next = answers.next();
    await eventually(() => streams.open("marketData") === 1);
    happen({ case: "marketData", value: marketData(1) });
    answers.end();
    expect(await next.catch(() => undefined)).toBeUndefined();
  });

  const notThere = `10000 no market found for id: ${id(1)}: malformed request`;
  const malformed = "decoding 'x': not a valid hex id (or well known exception)";
  const accounts =
    "80008 failed to send accounts snapshot (fetching account balance initial image: querying account balances: ";
  const positions = "160002 failed to send positions snapshot (getting initial positions by ";

  test.each<[string, (data: DataService["data"]) => AsyncIterable<unknown>, code: string, detail: string]>([
    ["market data", (data) => data.observeMarketsData({ marketIds: [id(1)] }), "Internal", notThere],
    ["books", (data) => data.observeMarketsDepth({ marketIds: [id(1)] }), "Internal", notThere],
    ["changes of books", (data) => data.observeMarketsDepthUpdates({ marketIds: [id(1)] }), "Internal", notThere],
    [
      "orders",
      (data) => data.observeOrders({ partyIds: ["x"] }),
      "InvalidArgument",
      "10000 invalid party id (one or more party id is invalid)",
    ],
    [
      "accounts",
      (data) => data.observeAccounts({ marketId: "x" }),
      "InvalidArgument",
      `${accounts}could not decode market ID: ${malformed})`,
    ],
    [
      "accounts of an asset",
      (data) => data.observeAccounts({ asset: "x" }),
      "InvalidArgument",
      `${accounts}${malformed})`,
    ],
    [
      "positions",
      (data) => data.observePositions({ partyId: "x" }),
      "InvalidArgument",
      `${positions}party: scany: query multiple result rows: ${malformed})`,
    ],
  ])("of what is not there, or malformed, an error: %s", async (_, observe, code, detail) => {
    const { data } = serveData(historyOf());
    const first = observe(data)[Symbol.asyncIterator]().next();
    expect(await failureOf(first)).toEqual({ code, message: `${code} error`, details: [detail] });
  });
});

describe("results of transactions", () => {
  const result = (number: number, fields: MessageInitShape<typeof TransactionResultSchema> = {}): Event => ({
    case: "transactionResult",
    value: create(TransactionResultSchema, {
      hash: `F${id(number).slice(1)}`,
      partyId: id(2),
      status: true,
      ...fields,
    }),
  });

  test.each([
    ["all", {}, [1, 2, 3, 4]],
    ["of parties", { partyIds: [id(3), id(9)] }, [2, 4]],
    ["of hashes", { hashes: [`F${id(1).slice(1)}`, `F${id(4).slice(1)}`] }, [1, 4]],
    ["of a hash that is written otherwise", { hashes: [`f${id(1).slice(1)}`, `F${id(2).slice(1)}`] }, [2]],
    ["that succeeded", { status: true }, [1, 2]],
    ["that failed, of a party", { status: false, partyIds: [id(3)] }, [4]],
  ])("%s", async (_, request, expected) => {
    const { data, happen, streams } = serveData(historyOf());
    const answers = reader((options) => data.observeTransactionResults(request, options));
    const first = answers.next();
    await eventually(() => streams.open("transactionResult") === 1);
    const ofOther = { partyId: id(3) };
    happen(orderEvent(1), result(1), result(2, ofOther), result(3, { status: false }));
    happen(result(4, { ...ofOther, status: false }));
    const hashes: string[] = [];
    for (let answer = await first; answer !== undefined; answer = await answers.next()) {
      hashes.push(...answer.transactionResults.map(({ hash }) => hash));
      if (hashes.length >= expected.length) {
        break;
      }
    }
    expect(hashes).toEqual(expected.map((number) => `F${id(number).slice(1)}`));
    answers.end();
  });

  test("are not told to who reads too slowly", async () => {
    const { data, happen, streams } = serveData(historyOf());
    const answers = reader((options) => data.observeTransactionResults({}, options));
    const first = answers.next();
    await eventually(() => streams.open("transactionResult") === 1);
    happen(result(1));
    await first;
    for (let block = 0; block < 3; block += 1) {
      happen(...Array.from({ length: 6000 }, (_, number) => result(number)));
    }
    await expect(answers.next()).rejects.toMatchObject({ code: Code.Internal });
  });
});
