import type { MessageInitShape } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Client, createClient, ProtocolError } from "tradewire";
import {
  type ListGovernanceDataResponseSchema,
  TradingDataService,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { serveNode, type TestNode } from "../../support/node.js";

/** Proposals of a v0.78.0 network, newest first, and the number of proposals in each that is a batch. */
const PROPOSALS = {
  "731dc1": 2,
  e53ca2: 0,
  "408a45": 0,
  "3e7bbf": 2,
  bf2724: 0,
  b8b248: 0,
  cef5e1: 0,
  cd6c27: 0,
  f015df: 0,
};
type Id = keyof typeof PROPOSALS;

/** The pages that its data node gave (by `datanode/sqlstore/proposals.go`), by their size and the cursor before them. */
const PAGES: Readonly<Record<number, Readonly<Record<string, { ids: readonly Id[]; hasNextPage: boolean }>>>> = {
  1: {
    "": { ids: ["731dc1"], hasNextPage: true },
    "731dc1": { ids: ["cef5e1"], hasNextPage: true },
    cef5e1: { ids: ["cd6c27"], hasNextPage: true },
    cd6c27: { ids: ["f015df"], hasNextPage: false },
  },
  5: {
    "": { ids: ["731dc1", "e53ca2", "408a45", "3e7bbf", "cef5e1"], hasNextPage: true },
    cef5e1: { ids: ["cd6c27", "f015df"], hasNextPage: false },
  },
  5000: {
    "": { ids: Object.keys(PROPOSALS) as Id[], hasNextPage: false },
    start: { ids: ["731dc1"], hasNextPage: false }, // Not recorded: what is before a cursor is not known.
  },
};

let node: TestNode;
let client: Client;
let asked: number[];
beforeAll(async () => {
  node = await serveNode({
    listGovernanceData({ pagination }): MessageInitShape<typeof ListGovernanceDataResponseSchema> {
      const { first = 0, after = "" } = pagination ?? {};
      asked.push(first);
      const page = PAGES[first]?.[after];
      if (page === undefined) {
        throw new Error(`no page of ${first} after "${after}"`);
      }
      const edges = page.ids.map((id) => ({
        cursor: id,
        node: { proposal: { id }, proposals: Array.from({ length: PROPOSALS[id] }, () => ({})) },
      }));
      return { connection: { edges, pageInfo: { hasNextPage: page.hasNextPage, endCursor: page.ids.at(-1) ?? "" } } };
    },
  });
  client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
});
afterAll(async () => {
  await client.close();
  await node.close();
});

/** Lists proposals: their identifiers, the error that ended the listing, and the sizes of the pages that were asked for. */
async function list(options: { pageSize?: number; limit?: number }, after?: string) {
  asked = [];
  const ids: (string | undefined)[] = [];
  const request = after === undefined ? {} : { pagination: { after } };
  let error: unknown;
  try {
    for await (const { node: data } of client.records(TradingDataService.method.listGovernanceData, request, options)) {
      ids.push(data.proposal?.id);
    }
  } catch (reason) {
    error = reason;
  }
  return { ids, error, asked: [...new Set(asked)] };
}

describe("proposals, of which some are batches", () => {
  it("are all listed by default, from one page of the largest size", async () => {
    expect(await list({})).toEqual({ ids: Object.keys(PROPOSALS), error: undefined, asked: [5000] });
  });

  it("are given as far as the limit, from a page of the same size", async () => {
    expect(await list({ limit: 1 })).toEqual({ ids: ["731dc1"], error: undefined, asked: [5000] });
  });

  it.each([1, 5])("are not silently left out on pages of %s", async (pageSize) => {
    const { ids, error } = await list({ pageSize });
    expect(ids).toEqual(PAGES[pageSize]?.[""]?.ids);
    expect(error).toBeInstanceOf(ProtocolError);
    expect(String(error)).toMatch(/the node may have omitted records.*\n.*use a pageSize of 5000/);
  });

  it("are not silently left out after a cursor", async () => {
    const { ids, error } = await list({}, "start");
    expect(ids).toEqual(["731dc1"]);
    expect(error).toBeInstanceOf(ProtocolError);
  });
});

it("proposals without a batch are listed in pages of any size", async () => {
  expect(await list({ pageSize: 1 }, "cef5e1")).toEqual({ ids: ["cd6c27", "f015df"], error: undefined, asked: [1] });
});
