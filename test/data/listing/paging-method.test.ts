import { createFileRegistry, type DescMethodUnary, fromJson } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "@jest/globals";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { CoreStateService } from "tradewire/gen/vega/api/v1/corestate_pb.js";
import { connectionOf, hasPages } from "../../../src/data/listing/paging-method.js";

const methods = [TradingDataService, CoreService, CoreStateService].flatMap((service) => service.methods);
const isUnary = (each: (typeof methods)[number]): each is (typeof methods)[number] & DescMethodUnary =>
  each.methodKind === "unary";
const paging = methods.filter(hasPages).filter(isUnary);

describe("the methods of the network", () => {
  const asks = methods.filter(({ input }) =>
    input.fields.some(({ message }) => message?.typeName === "datanode.api.v2.Pagination"),
  );

  it("page where their request has a pagination, but for one whose answer has no cursors", () => {
    expect(methods).toHaveLength(150);
    expect(asks).toHaveLength(61);
    const names = asks.map(({ name }) => name).filter((name) => name !== "ListRewardSummaries");
    expect(paging.map(({ name }) => name)).toEqual(names);
    expect(paging).toHaveLength(60);
  });

  it("have one connection, of records that are messages, whatever its field is called", () => {
    const found = Object.fromEntries(paging.map((each) => [each.name, connectionOf(each)]));
    expect(found["GetStake"]).toMatchObject({
      field: { localName: "stakeLinkings" },
      node: { typeName: "vega.events.v1.StakeLinking" },
    });
    expect(found["ListAMMs"]).toMatchObject({ field: { localName: "amms" }, node: { typeName: "vega.events.v1.AMM" } });
    expect(new Set(paging.map((each) => connectionOf(each).field.name)).size).toBeGreaterThan(40);
    const again = paging.map(connectionOf);
    expect(paging.every((each, index) => connectionOf(each) === again[index])).toBe(true);
  });
});

describe("methods of other definitions", () => {
  const field = (name: string, number: number, type: string, repeated = false) => ({
    name,
    jsonName: name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    number,
    ...(type.startsWith(".") ? { type: "TYPE_MESSAGE", typeName: type } : { type }),
    label: repeated ? "LABEL_REPEATED" : "LABEL_OPTIONAL",
  });
  const page = [field("items", 1, ".foreign.Items"), field("note", 2, "TYPE_STRING")];
  const token = (number: number) => field("next_page_token", number, "TYPE_STRING");
  const texts = (number: number) => [field("unreachable", number, "TYPE_STRING", true)];
  const definitions = {
    name: "foreign.proto",
    package: "foreign",
    syntax: "proto3",
    messageType: [
      { name: "Cursors", field: [field("first", 1, "TYPE_INT32"), field("after", 2, "TYPE_STRING")] },
      { name: "Offsets", field: [field("skip", 1, "TYPE_INT32"), field("limit", 2, "TYPE_INT32")] },
      { name: "ByCursors", field: [field("pagination", 1, ".foreign.Cursors")] },
      { name: "ByOffsets", field: [field("pagination", 1, ".foreign.Offsets")] },
      { name: "Item", field: [field("id", 1, "TYPE_STRING")] },
      { name: "Edge", field: [field("node", 1, ".foreign.Item"), field("cursor", 2, "TYPE_STRING")] },
      { name: "Bare", field: [field("node", 1, "TYPE_STRING"), field("cursor", 2, "TYPE_STRING")] },
      { name: "Info", field: [field("has_next_page", 1, "TYPE_BOOL"), field("end_cursor", 2, "TYPE_STRING")] },
      { name: "Items", field: [field("edges", 1, ".foreign.Edge", true), field("page_info", 2, ".foreign.Info")] },
      { name: "Bares", field: [field("edges", 1, ".foreign.Bare", true), field("page_info", 2, ".foreign.Info")] },
      { name: "One", field: page },
      { name: "Two", field: [...page, field("others", 3, ".foreign.Items")] },
      { name: "None", field: [field("bares", 1, ".foreign.Bares")] },
      { name: "ByTokens", field: [field("page_size", 1, "TYPE_INT32"), field("page_token", 2, "TYPE_STRING")] },
      { name: "ByToken", field: [field("page_token", 1, "TYPE_STRING")] },
      { name: "List", field: [...texts(3), field("items", 1, ".foreign.Item", true), token(2)] },
      {
        name: "Lists",
        field: [field("items", 1, ".foreign.Item", true), field("more", 3, ".foreign.Bare", true), token(2)],
      },
      {
        name: "Mixed",
        field: [field("more", 3, ".foreign.Bare", true), field("items", 1, ".foreign.Item", true), token(2)],
      },
      { name: "Texts", field: [...texts(1), token(2)] },
      { name: "Empty", field: [token(1)] },
      { name: "Tokenless", field: [field("items", 1, ".foreign.Item", true)] },
    ],
    service: [
      {
        name: "Service",
        method: [
          { name: "Fits", inputType: ".foreign.ByCursors", outputType: ".foreign.One" },
          { name: "Skips", inputType: ".foreign.ByOffsets", outputType: ".foreign.One" },
          { name: "Both", inputType: ".foreign.ByCursors", outputType: ".foreign.Two" },
          { name: "Texts", inputType: ".foreign.ByCursors", outputType: ".foreign.None" },
          { name: "Lists", inputType: ".foreign.ByTokens", outputType: ".foreign.Lists" },
          { name: "FitsTokens", inputType: ".foreign.ByTokens", outputType: ".foreign.List" },
          { name: "Sizeless", inputType: ".foreign.ByToken", outputType: ".foreign.List" },
          { name: "Tokenless", inputType: ".foreign.ByTokens", outputType: ".foreign.Tokenless" },
          { name: "Listless", inputType: ".foreign.ByTokens", outputType: ".foreign.Empty" },
          { name: "ListsTexts", inputType: ".foreign.ByTokens", outputType: ".foreign.Texts" },
          { name: "Mixed", inputType: ".foreign.ByTokens", outputType: ".foreign.Mixed" },
          { name: "Streams", inputType: ".foreign.ByCursors", outputType: ".foreign.One", serverStreaming: true },
        ],
      },
    ],
  };
  const file = fromJson(FileDescriptorProtoSchema, definitions);
  const service = createFileRegistry(file, () => undefined).getService("foreign.Service");

  it.each([
    ["Skips", "its pagination foreign.Offsets has no cursors (first and after)"],
    ["Both", "its response foreign.Two contains more than one connection, items and others"],
    ["Texts", "its response foreign.None contains no connection (edges with cursors, and page_info)"],
    ["Streams", "it returns a stream"],
    ["Sizeless", "its request foreign.ByToken does not have both a string page_token and an int32 page_size"],
    ["Tokenless", "its response foreign.Tokenless has no string next_page_token"],
    ["Listless", "its response foreign.Empty has no list"],
    [
      "Mixed",
      "its response foreign.Mixed has several lists, more and items, and the first does not have the lowest number",
    ],
  ])("%s is refused by what it lacks", (name, lacking) => {
    const found = service?.methods.find((each) => each.name === name);
    expect(found).toBeDefined();
    expect(() => found && connectionOf(found)).toThrow(`foreign.Service/${name} has no pages: ${lacking}`);
    expect(() => found && connectionOf(found)).toThrow(
      "use a method of foreign.Service that has pages: Fits, Lists, FitsTokens, ListsTexts.",
    );
  });

  it("page where they have what it takes", () => {
    const fits = service?.methods.find(({ name }) => name === "Fits");
    expect(fits && connectionOf(fits)).toMatchObject({ field: { name: "items" }, node: { typeName: "foreign.Item" } });
  });

  // https://google.aip.dev/158 and https://google.aip.dev/client-libraries/4233: the only list of messages, or the first.
  it.each(["FitsTokens", "Lists"])("page by the tokens of AIP-158: %s", (name) => {
    const found = service?.methods.find((each) => each.name === name);
    expect(found && connectionOf(found)).toMatchObject({
      by: "tokens",
      field: { name: "items" },
      node: { typeName: "foreign.Item" },
    });
  });
});
