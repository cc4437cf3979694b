import { Readable } from "node:stream";
import { create, createFileRegistry, type DescMessage, fromJson, toJson } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema, file_google_protobuf_timestamp } from "@bufbuild/protobuf/wkt";
import { expect, it } from "@jest/globals";
import { RequestError } from "tradewire";
import { ListStopOrdersRequestSchema } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CheckTransactionRequestSchema } from "tradewire/gen/vega/api/v1/core_pb.js";
import { GovernanceDataSchema } from "tradewire/gen/vega/governance_pb.js";
import { readRequest } from "../../../src/cli/api/requests.js";
import { knownTypes } from "../../support/any.js";

async function requestOf(desc: DescMessage, argument: string | undefined, ...settings: string[]) {
  const context = {
    in: Readable.from(['{"pagination":', '{"first":1}}'].map((text) => Buffer.from(text))),
    out: process.stdout,
    err: process.stderr,
    notes: process.stderr,
    environment: {},
    onConfig: () => {},
    signal: AbortSignal.timeout(60_000),
  };
  return toJson(desc, await readRequest(desc, { argument, settings, registry: knownTypes }, context));
}

it("a request is empty, or comes from the argument or from standard input", async () => {
  expect(await requestOf(ListStopOrdersRequestSchema, undefined)).toEqual({});
  expect(await requestOf(ListStopOrdersRequestSchema, '{"filter":{"live_only":true}}')).toEqual({
    filter: { liveOnly: true },
  });
  expect(await requestOf(ListStopOrdersRequestSchema, "-")).toEqual({ pagination: { first: 1 } });
});

it("fields are set one by one, over those of the JSON", async () => {
  const given = '{"filter": {"party_ids": ["replaced"], "marketIds": ["kept"]}, "pagination": {"first": 1}}';
  const settings = [
    ["filter.statuses=PENDING,status_expired,6,-7", "filter.party_ids=a\\,b,c\\\\", "filter.partyIds=d=e"],
    ["filter.dateRange.startTimestamp=9223372036854775807", "filter.live_only=true", "pagination.first=2"],
    ["pagination.after=a,b\\"],
  ];
  expect(await requestOf(ListStopOrdersRequestSchema, given, ...settings.flat())).toEqual({
    pagination: { first: 2, after: "a,b\\" },
    filter: {
      statuses: ["STATUS_PENDING", "STATUS_EXPIRED", "STATUS_REJECTED", -7],
      dateRange: { startTimestamp: "9223372036854775807" },
      partyIds: ["a,b", "c\\", "d=e"],
      marketIds: ["kept"],
      liveOnly: true,
    },
  });
});

it("bytes are base64, messages JSON, and a list may be emptied", async () => {
  const tx = ["tx.inputData=AP8=", 'tx.signature={"value": "00", "version": 1}', "tx.signature.algo=x"];
  expect(await requestOf(CheckTransactionRequestSchema, undefined, ...tx)).toEqual({
    tx: { inputData: "AP8=", signature: { value: "00", version: 1, algo: "x" } },
  });
  expect(await requestOf(ListStopOrdersRequestSchema, '{"filter":{"partyIds":["a"]}}', "filter.partyIds=")).toEqual({
    filter: {},
  });
  const files = ['file={"name": "a"}', 'file={"name": "b", "dependency": ["c,d"]}'];
  expect(await requestOf(FileDescriptorSetSchema, undefined, ...files)).toEqual({
    file: [{ name: "a" }, { name: "b", dependency: ["c,d"] }],
  });
});

it("entries of maps are set by their key", async () => {
  const votes = ['yesParty.a={"partyId": "1"}', "yes_party.a.timestamp=5"];
  expect(await requestOf(GovernanceDataSchema, '{"yesParty": {"z": {}}}', ...votes)).toEqual({
    yesParty: { z: {}, a: { partyId: "1", timestamp: "5" } },
  });
  expect(
    await requestOf(shelf(), undefined, "copies.a.b=5", "copies.c=18446744073709551615", "seen=2024-02-29T00:00:00Z"),
  ).toEqual({
    copies: { "a.b": "5", c: "18446744073709551615" },
    seen: "2024-02-29T00:00:00Z",
  });
});

/** A message with a map of numbers and a time. */
function shelf(): DescMessage {
  const field = { label: "LABEL_OPTIONAL", type: "TYPE_MESSAGE" };
  const entry = {
    name: "CopiesEntry",
    options: { mapEntry: true },
    field: [
      { ...field, name: "key", number: 1, type: "TYPE_STRING" },
      { ...field, name: "value", number: 2, type: "TYPE_UINT64" },
    ],
  };
  const copies = {
    ...field,
    name: "copies",
    jsonName: "copies",
    number: 1,
    label: "LABEL_REPEATED",
    typeName: ".x.Shelf.CopiesEntry",
  };
  const seen = { ...field, name: "seen", jsonName: "seen", number: 2, typeName: ".google.protobuf.Timestamp" };
  const file = { name: "x.proto", package: "x", syntax: "proto3", dependency: ["google/protobuf/timestamp.proto"] };
  const set = fromJson(FileDescriptorSetSchema, {
    file: [{ ...file, messageType: [{ name: "Shelf", field: [copies, seen], nestedType: [entry] }] }],
  });
  const found = createFileRegistry(
    create(FileDescriptorSetSchema, { file: [file_google_protobuf_timestamp.proto, ...set.file] }),
  );
  const message = found.getMessage("x.Shelf");
  if (message === undefined) {
    throw new Error("the message is missing");
  }
  return message;
}

it.each([
  ["proposal.terms.change.updateMarket={}", "Did you mean proposal.terms.updateMarket? change is a oneof. Fields: "],
  ["proposal.terms.change=x", "change is a oneof. Fields: "],
])("a oneof's name is no field: %s", async (setting, advice) => {
  await expect(requestOf(GovernanceDataSchema, undefined, setting)).rejects.toMatchObject({
    summary: expect.stringContaining('unknown field "change" in vega.ProposalTerms'),
    advice: expect.stringContaining(advice),
  });
});

it.each<[string | undefined, string[], RegExp]>([
  ["{", [], /^the request is not valid JSON\nUse Protobuf JSON.*@FILE/],
  ["[]", [], /^the request: cannot decode/],
  ["[]", ["pagination.first=1"], /not a JSON object, so --set cannot apply/],
  [
    '{"filter": {"partyId": "a"}}',
    [],
    /^the request, filter: unknown field "partyId" in datanode\.api\.v2\.StopOrderFilter\nDid you mean partyIds\? Fields: statuses, /,
  ],
  [
    '{"filter":{"dateRange":{"endTimestamp":9007199254740993}}}',
    [],
    /endTimestamp: .* may have been rounded\n.*quotes/,
  ],
  [
    '{"filter":{"dateRange":{"endTimestamp":"0x10"}}}',
    [],
    /^the request: endTimestamp must be a whole number \(got "0x10"\)/,
  ],
  ['{"filter":{"dateRange":{"endTimestamp":"0b11"}}}', [], /endTimestamp must be a whole number/],
  ['{"filter":{"dateRange":{"endTimestamp":" 5 "}}}', [], /endTimestamp must be a whole number/],
  ['{"filter":{"dateRange":{"endTimestamp":"007"}}}', [], /endTimestamp must be a whole number/],
  [undefined, ["filter.dateRange.endTimestamp=0x10"], /endTimestamp must be a whole number/],
  [undefined, ["pagination.first=0x10"], /first must be a whole number/],
  ['{"pagination":{"first":1,"after":"x","first":2}}', [], /^the request: the name "first" occurs twice in one object/],
  ['{"pagination":{"fi\\u0072st":1,"first":2}}', [], /the name "first" occurs twice/],
  [undefined, ['pagination={"first":1,"first":2}'], /^--set .*: the name "first" occurs twice/],
  ['{"filter":{"liveOnly":true,"live_only":false}}', [], /liveOnly and live_only are the same field/],
  [
    '{"filter":{"statuses":["STATUS_X"]}}',
    [],
    /the request, filter, statuses must be a value of vega\.StopOrder\.Status \(got "STATUS_X"\)/,
  ],
  [
    undefined,
    ["pagination.frist=1"],
    /^--set "pagination\.frist=1": unknown field "frist" in datanode\.api\.v2\.Pagination\nDid you mean first\? Fields/,
  ],
  [undefined, ["pagination.first=x"], /Pagination\.first .*expected number \(int32\), got "x"\n.*describe datanode/],
  [undefined, ["pagination.first=2147483648"], /out of range/],
  [undefined, ["filter.dateRange.endTimestamp=9223372036854775808"], /out of range/],
  [undefined, ["filter.liveOnly=yes"], /expected boolean, got "yes"/],
  [
    undefined,
    ["filter.statuses=PENDNG"],
    /must be a value of vega\.StopOrder\.Status \(got "PENDNG"\)\nDid you mean PENDING\? Valid values: UNSPECIFIED, PENDING, /,
  ],
  [undefined, ["filter.partyIds.x=1"], /party_ids is a list\nSet the complete field/],
  [undefined, ["filter.liveOnly.x=1"], /live_only has no fields of its own/],
  [undefined, ["filter=x"], /--set "filter=x": a message field must be JSON \(got "x"\)/],
  [undefined, ["filter"], /--set must have the form PATH=VALUE \(got "filter"\)/],
  [undefined, ["=x"], /have the form PATH=VALUE/],
])("request %j with settings %j is bad usage", async (argument, settings, message) => {
  const asked = requestOf(ListStopOrdersRequestSchema, argument, ...settings);
  await expect(asked).rejects.toThrow(RequestError);
  await expect(asked).rejects.toThrow(message);
});
