import { create, fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import {
  ExportNetworkHistoryRequestSchema,
  Table,
  TradingDataService,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { CoreStateService } from "tradewire/gen/vega/api/v1/corestate_pb.js";
import { type HttpBinding, type HttpCall, httpBindings } from "../../../src/wire/http-rule/http-rule.js";
import { ruleOf, ShapeSchema, shapeMethod } from "../../support/shapes.js";
import { createHttpCall } from "./inside.js";

function write(rule: HttpBinding, json: JsonObject): HttpCall {
  return createHttpCall(ShapeSchema, rule, fromJson(ShapeSchema, json));
}

const get = ruleOf(shapeMethod({ get: "/shapes" }));
const all = ruleOf(shapeMethod({ post: "/shapes/{name}", body: "*" }));

describe("httpBindings", () => {
  it("reads a rule", () => {
    const [rule, ...rest] = httpBindings(
      shapeMethod({ put: "/v1/{inner.inner_id=a/*}:go", body: "inner", responseBody: "inner" }),
    );
    expect(rest).toEqual([]);
    expect(rule).toMatchObject({ verb: "PUT", body: "inner", responseBody: "inner" });
    expect(rule?.template.text).toBe("/v1/{inner.inner_id=a/*}:go");
  });

  it("reads every verb, and those of one's own", () => {
    const rules = [{ get: "/a" }, { put: "/a" }, { post: "/a" }, { delete: "/a" }, { patch: "/a" }];
    expect(rules.map((rule) => ruleOf(shapeMethod(rule)).verb)).toEqual(["GET", "PUT", "POST", "DELETE", "PATCH"]);
    expect(ruleOf(shapeMethod({ custom: { kind: "PURGE", path: "/a" } }))).toMatchObject({ verb: "PURGE" });
  });

  it("puts additional bindings behind the main one", () => {
    const method = shapeMethod({ get: "/a", additionalBindings: [{ post: "/b", body: "*" }, { get: "/c/{name}" }] });
    expect(httpBindings(method).map(({ verb, body, template }) => `${verb} ${template.text} ${body}`)).toEqual([
      "GET /a ",
      "POST /b *",
      "GET /c/{name} ",
    ]);
  });

  it("finds none where there is no rule, or an empty one", () => {
    expect(httpBindings(shapeMethod())).toEqual([]);
    expect(httpBindings(shapeMethod({}))).toEqual([]);
  });

  it("reads the rules of the network's own methods", () => {
    const called = [TradingDataService, CoreService, CoreStateService].flatMap(({ methods }) =>
      methods.map((method) => ({ name: method.name, rule: httpBindings(method)[0] })),
    );
    expect(called).toHaveLength(150);
    expect(called.flatMap(({ name, rule }) => (rule === undefined ? [name] : []))).toEqual([
      "ListPositions",
      "GetMostRecentNetworkHistorySegment",
      "GetActiveNetworkHistoryPeerAddresses",
      "ListEntities",
      "GetVestingBalancesSummary",
      "GetPartyDiscountStats",
      "Ping",
      "PropagateChainEvent",
    ]);
    const posted = called.filter(({ rule }) => rule !== undefined && rule.verb !== "GET");
    expect(posted.map(({ rule }) => `${rule?.verb} ${rule?.template.text} ${rule?.body}`)).toEqual([
      "POST /transaction *",
      "POST /transaction/raw *",
      "POST /transaction/check *",
      "POST /transaction/raw/check *",
    ]);
    const { getStopOrder, listTeamRefereeHistory } = TradingDataService.method;
    expect(ruleOf(getStopOrder).template.text).toBe("/api/v2/stoporder/{order_id}");
    expect(ruleOf(listTeamRefereeHistory).template.text).toBe("/api/v2/teams/referees/history/{referee}");
  });
});

describe("writeCall", () => {
  it("writes an export as the specification has it", () => {
    const message = create(ExportNetworkHistoryRequestSchema, { fromBlock: 1n, toBlock: 3000n, table: Table.TRADES });
    const rule = ruleOf(TradingDataService.method.exportNetworkHistory);
    expect(createHttpCall(ExportNetworkHistoryRequestSchema, rule, message)).toEqual({
      verb: "GET",
      target: "/api/v2/networkhistory/export?fromBlock=1&toBlock=3000&table=TABLE_TRADES",
    });
  });

  it("writes nested fields by dots and repeated ones by repeating the key", () => {
    const call = write(get, {
      bigNumber: "-9223372036854775808",
      isOn: true,
      kinds: ["KIND_ONE", "KIND_TWO"],
      tags: ["a&b=c", "é +"],
      inner: { innerId: "x", deeper: { levels: [1, 2], isSet: false } },
      rawBytes: "+/8=",
      atTime: "2024-02-29T12:00:00.000000001Z",
      textValue: "",
      maybeNumber: "0",
    });
    const [path, search] = call.target.split("?");
    expect(path).toBe("/shapes");
    expect([...new URLSearchParams(search)]).toEqual([
      ["bigNumber", "-9223372036854775808"],
      ["rawBytes", "+/8="],
      ["isOn", "true"],
      ["tags", "a&b=c"],
      ["tags", "é +"],
      ["kinds", "KIND_ONE"],
      ["kinds", "KIND_TWO"],
      ["inner.innerId", "x"],
      ["inner.deeper.levels", "1"],
      ["inner.deeper.levels", "2"],
      ["inner.deeper.isSet", "false"],
      ["textValue", ""],
      ["atTime", "2024-02-29T12:00:00.000000001Z"],
      ["maybeNumber", "0"],
    ]);
    expect(search).toMatch(/^[!-~]+$/);
  });

  it("puts into the body what is not in the path", () => {
    expect(write(all, { name: "n", count: "1", labels: { a: "b" }, inners: [{}] })).toEqual({
      verb: "POST",
      target: "/shapes/n",
      body: { count: "1", labels: { a: "b" }, inners: [{}] },
    });
    expect(write(all, { name: "n" }).body).toEqual({});
  });

  it("puts one field into the body and the rest into the query string", () => {
    const rule = ruleOf(shapeMethod({ patch: "/shapes/{inner.inner_id}", body: "inner" }));
    expect(write(rule, { name: "n", inner: { innerId: "i", levels: [1] } })).toEqual({
      verb: "PATCH",
      target: "/shapes/i?name=n",
      body: { levels: [1] },
    });
    const list = ruleOf(shapeMethod({ post: "/shapes", body: "uint_values" }));
    expect(write(list, { uintValues: ["1", "2"], small: 3 })).toEqual({
      verb: "POST",
      target: "/shapes?small=3",
      body: ["1", "2"],
    });
  });

  it("sends no body for a field that is not set", () => {
    for (const body of ["inner", "tags", "text_value", "name"]) {
      expect(write(ruleOf(shapeMethod({ post: "/shapes", body })), { small: 3 })).toEqual({
        verb: "POST",
        target: "/shapes?small=3",
      });
    }
  });

  it("writes a default into the path where the field is not set", () => {
    const target = (path: string, json: JsonObject = {}) => write(ruleOf(shapeMethod({ get: path })), json).target;
    expect(target("/{big_number}/{is_on}/{kind}/{ratio}")).toBe("/0/false/KIND_UNSPECIFIED/0");
    expect(target("/{kind}/{inner.is_set}", { kind: 7 })).toBe("/7/false");
  });

  it("refuses a text that is empty in the path", () => {
    const rule = ruleOf(shapeMethod({ get: "/shapes/{inner.inner_id}" }));
    expect(() => write(rule, { name: "n" })).toThrow(
      expect.objectContaining({
        name: "RequestError",
        summary: 'inner.inner_id is "", which the path /shapes/{inner.inner_id} cannot contain',
      }),
    );
  });

  it.each<[string, JsonObject]>([
    ["labels is a map", { labels: { a: "b" } }],
    ["inners is a list of messages", { inners: [{ innerId: "a" }] }],
    ["free is free-form", { free: { a: 1 } }],
    ["anyValue is free-form", { anyValue: 1 }],
    ["anyValue is free-form", { anyValue: null }],
    ["anyValue is free-form", { anyValue: [1] }],
    ["anyList is free-form", { anyList: ["a", "b"] }],
    ["anyList is free-form", { anyList: [] }],
  ])("refuses, in a query string: %s", (what, json) => {
    expect(() => write(get, json)).toThrow(
      expect.objectContaining({ name: "RequestError", summary: `${what}, which a query string cannot contain` }),
    );
    // Where they are not set, or in a body, there is nothing to refuse.
    expect(write(get, {}).target).toBe("/shapes");
    expect(write(all, { name: "n", ...json }).body).toEqual(json);
  });

  it.each(["/{inner}", "/{tags}", "/{labels}", "/{nothing}", "/{name.more}", "/{inner.nothing}", "/{at_time}"])(
    "refuses a rule whose path %s names no scalar field",
    (path) => {
      expect(() => write(ruleOf(shapeMethod({ get: path })), { name: "n" })).toThrow("it is not a scalar field");
    },
  );

  it("leaves the message as it was", () => {
    const json = { name: "n", inner: { innerId: "i", levels: [1] } };
    const message = fromJson(ShapeSchema, json);
    createHttpCall(ShapeSchema, ruleOf(shapeMethod({ post: "/{name}/{inner.inner_id}", body: "inner" })), message);
    expect(toJson(ShapeSchema, message)).toEqual(json);
  });
});
