import { describe, expect, it } from "@jest/globals";
import { run } from "../support/command.js";

describe("methods", () => {
  it("says that none matches", async () => {
    const expected = { code: 0, out: "", err: "No methods match.\n" };
    expect(await run(["methods", "zzz", "-o", "table"])).toEqual(expected);
  });

  it("lists every method on a line of its own", async () => {
    const { code, out, err } = await run(["methods", "--output", "table"]);
    expect([code, err]).toEqual([0, ""]);
    const [header, ...lines] = out.trimEnd().split("\n");
    expect(header).toMatch(/^method +kind +http +service$/);
    expect(lines).toHaveLength(150);
    expect(new Set(lines.map((line) => line.split(" ")[0])).size).toBe(150);
    const cells = lines.map((line) => line.split(/ {2,}/));
    for (const expected of [
      ["TradingDataService/ListMarkets", "unary", "GET /api/v2/markets", "datanode.api.v2.TradingDataService"],
      ["ObserveTrades", "server streaming", "GET /api/v2/stream/trades", "datanode.api.v2.TradingDataService"],
      ["Ping", "unary", "datanode.api.v2.TradingDataService"],
      ["CoreService/ObserveEventBus", "bidi streaming", "GET /stream/event/bus", "vega.api.v1.CoreService"],
      ["SubmitTransaction", "unary", "POST /transaction", "vega.api.v1.CoreService"],
      ["CoreStateService/ListAccounts", "unary", "GET /accounts", "vega.api.v1.CoreStateService"],
    ]) {
      expect(cells).toContainEqual(expected);
    }
  });

  it.each([
    ["getvegatime", ["datanode.api.v2.TradingDataService/GetVegaTime", "vega.api.v1.CoreService/GetVegaTime"]],
    [
      "/api/v2/stream/t*",
      ["ObserveTrades", "ObserveTransactionResults"].map((name) => `datanode.api.v2.TradingDataService/${name}`),
    ],
    ["vega.*/List*es", ["vega.api.v1.CoreStateService/ListParties", "vega.api.v1.CoreStateService/ListVotes"]],
    ["nothing", []],
  ])("lists those that fit %j", async (pattern, names) => {
    const { methods } = JSON.parse((await run(["methods", pattern, "--json"])).out);
    expect(methods.map(({ name }: { name: string }) => name)).toEqual(names);
  });
});

describe("describe", () => {
  const show = async (name: string) => JSON.parse((await run(["describe", name, "--json"])).out);

  it("shows a method with the fields of its messages", async () => {
    const described = await show("liststoporders");
    expect(described).toMatchObject({
      kind: "method",
      methodKind: "unary",
      name: "datanode.api.v2.TradingDataService/ListStopOrders",
      http: ["GET /api/v2/stoporders"],
      request: "datanode.api.v2.ListStopOrdersRequest",
    });
    expect(described.requestFields).toEqual([
      {
        number: 2,
        name: "pagination",
        jsonName: "pagination",
        type: "datanode.api.v2.Pagination",
        presence: "optional",
      },
      {
        number: 5,
        name: "filter",
        jsonName: "filter",
        type: "datanode.api.v2.StopOrderFilter",
        presence: "optional",
      },
    ]);
    const { out } = await run(["describe", "ListStopOrders", "-o", "table"]);
    expect(out).toMatch(/^method +datanode\.api\.v2\.TradingDataService\/ListStopOrders\nkind +unary\nhttp +GET \/api/);
    expect(out).toMatch(
      /\nrequest message datanode\.api\.v2\.ListStopOrdersRequest\n\nnumber +name +json +type +presence\n +2 +pagination /,
    );
  });

  it("shows messages: lists, maps, choices and what may be unset", async () => {
    const fields = async (name: string) =>
      (await show(name)).fields.map((field: Record<string, string>) => [
        field["name"],
        field["type"],
        field["presence"],
      ]);
    expect(await fields("vega.GovernanceData")).toContainEqual(["yes_party", "map<string,vega.Vote>", ""]);
    expect(await fields("StopOrderFilter")).toContainEqual(["statuses", "repeated vega.StopOrder.Status", ""]);
    expect(await fields("vega.StopOrder")).toContainEqual(["price", "string", "oneof trigger"]);
    expect(await fields("vega.StopOrder")).toContainEqual(["expires_at", "int64", "optional"]);
  });

  it("takes the method that nodes offer where another gives way, and says so", async () => {
    const { code, out, err } = await run(["describe", "ListMarkets", "-o", "table"]);
    expect([code, out.split("\n")[0]?.replace(/ +/, " ")]).toEqual([
      0,
      "method datanode.api.v2.TradingDataService/ListMarkets",
    ]);
    expect(err).toBe(
      "Using datanode.api.v2.TradingDataService/ListMarkets. For vega.api.v1.CoreStateService/ListMarkets, use the full name.\n",
    );
  });

  it("shows enums and services", async () => {
    expect((await run(["describe", "vega.Side", "-o", "table"])).out).toBe(
      "enum vega.Side\n\nnumber  name\n     0  SIDE_UNSPECIFIED\n     1  SIDE_BUY\n     2  SIDE_SELL\n",
    );
    expect((await show("CoreStateService")).methods).toHaveLength(12);
  });

  it("prints the comments of a user's definitions in full on a narrow terminal, below what they are about", async () => {
    const terminal = { columns: 60, rows: 20 };
    const { out, err } = await run(["describe", "vega.PeggedOrder", "--proto", "proto"], {
      terminal,
      environment: { NO_COLOR: "1" },
    });
    expect(out).toMatch(
      /\nnumber +name +json +type +presence\n +1 +reference +reference +vega\.PeggedReference\n {4}The price that is followed\.\n +2 +offset +offset +string\n {4}The distance from it: an unsigned whole number in text,\n {4}\S/,
    );
    expect(
      Math.max(
        ...out
          .split("\n")
          .slice(3)
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(60);
    expect(err).toBe("");
  });

  it.each([
    [
      "ListMarkts",
      /^tradewire: unknown .*\nDid you mean \S+Service\/ListMarkets or \S+CoreStateService\/ListMarkets\?\n$/,
    ],
    ["vega.Mraket", /\nDid you mean vega\.Market\?\n$/],
    ["GetVegaTime", /is ambiguous/],
  ])("%j is bad usage", async (name, message) => {
    const { code, out, err } = await run(["describe", name]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(message);
  });
});
