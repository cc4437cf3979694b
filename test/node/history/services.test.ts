import { anyUnpack, StructSchema } from "@bufbuild/protobuf/wkt";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import JSZip from "jszip";
import { Table, TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { failureOf } from "../../support/failure-of.js";
import { createHistory, generateHistory, historyMethods } from "./inside.js";

const history = createHistory({
  generated: generateHistory({ blocks: 40 }),
  chainId: "devnode-1",
  segments: 4,
  blocksPerSegment: 10,
});

const clientOf = (profile?: "specification" | "deployed") =>
  createClient(
    TradingDataService,
    createRouterTransport(({ service }) => service(TradingDataService, historyMethods(history, { profile }))),
  );

async function exported(profile: "specification" | "deployed" | undefined, fromBlock: bigint, toBlock: bigint) {
  let name: string | null = null;
  const chunks = [];
  const request = { fromBlock, toBlock, table: Table.TRADES };
  const onHeader = (headers: Headers) => {
    name = headers.get("content-disposition");
  };
  for await (const chunk of clientOf(profile).exportNetworkHistory(request, { onHeader })) {
    chunks.push(chunk);
  }
  const zip = await JSZip.loadAsync(Buffer.concat(chunks.map(({ data }) => data)));
  return { name, chunks, files: Object.keys(zip.files) };
}

describe("the export of a history", () => {
  it("is named by the specification, and says in its first chunk what it is", async () => {
    const one = await exported(undefined, 1n, 20n);
    expect(one.name).toBe("attachment;filename=devnode-1-trades-1-20.zip");
    expect(one.files).toEqual(["devnode-1-trades-1-20.csv"]);
    expect(one.chunks[0]?.contentType).toBe("application/zip");
    const [extension, ...others] = one.chunks.flatMap(({ extensions }) => extensions);
    expect(others).toEqual([]);
    expect(extension && anyUnpack(extension, StructSchema)?.fields).toMatchObject({
      chainId: { kind: { value: "devnode-1" } },
      table: { kind: { value: "trades" } },
      fromBlock: { kind: { value: "1" } },
      toBlock: { kind: { value: "20" } },
    });
    const crossing = await exported("specification", 21n, 40n);
    expect(crossing.name).toBe("attachment;filename=devnode-1-trades-116-21-40.zip");
    expect(crossing.files).toEqual(["devnode-1-trades-115-21-30.csv", "devnode-1-trades-116-31-40.csv"]);
  });

  it("is named as by deployed nodes, without extensions, where that is asked for", async () => {
    const { name, files, chunks } = await exported("deployed", 21n, 40n);
    expect(name).toBe("attachment;filename=devnode-1-trades-000021-000040.zip");
    expect(files).toEqual(["devnode-1-trades-115-000021-000030.csv", "devnode-1-trades-116-000031-000040.csv"]);
    expect(chunks.flatMap(({ extensions }) => extensions)).toEqual([]);
  });

  it.each([
    [
      { fromBlock: 5n, toBlock: 10n, table: Table.TRADES },
      "InvalidArgument",
      "10000 could not to get contiguous history segments (heights 5 to 10 do not lie within a continuous segment range)",
    ],
    [
      { fromBlock: 1n, toBlock: 900n, table: Table.TRADES },
      "InvalidArgument",
      "10000 could not to get contiguous history segments (heights 1 to 900 do not lie within a continuous segment range)",
    ],
    [
      { fromBlock: 1n, toBlock: 10n },
      "Internal",
      "10000 no table name for network history supplied (empty table name)",
    ],
  ])("refuses %#", async (request, code, detail) => {
    const reading = (async () => {
      for await (const _ of clientOf().exportNetworkHistory(request)) {
        // None comes.
      }
    })();
    expect(await failureOf(reading)).toEqual({ code, message: `${code} error`, details: [detail] });
  });

  it("goes with the list of segments", async () => {
    const { segments } = await clientOf().listAllNetworkHistorySegments({});
    expect(segments).toHaveLength(4);
    // The newest comes first, and identifiers are CIDs of IPFS, version 0: recorded of the real node.
    expect(segments[0]?.historySegmentId).toMatch(/^Qm[1-9A-HJ-NP-Za-km-z]{44}$/);
    expect(segments[3]?.previousHistorySegmentId).toBe("");
    expect(segments[0]).toMatchObject({
      fromHeight: 31n,
      toHeight: 40n,
      databaseVersion: 116n,
      chainId: "devnode-1",
      historySegmentId: history.segments()[3]?.id,
      previousHistorySegmentId: history.segments()[2]?.id,
    });
  });
});
