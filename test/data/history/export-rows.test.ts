import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import {
  type ClientConfig,
  createClient,
  type ErrorObject,
  type NetworkHistoryExport,
  NodeError,
  ProtocolError,
  TradewireError,
} from "tradewire";
import { cutEvery, noise } from "../../support/archives.js";
import { type Script, serveExport, type Wire } from "../../support/export-server.js";
import { rawZip } from "../../support/raw-zip.js";

const request = { table: "trades", fromBlock: 1, toBlock: 3000 } as const;
const ways: Readonly<Record<string, readonly [Wire, (url: string) => ClientConfig]>> = {
  grpc: ["grpc", (url) => ({ transport: "grpc", grpc: { url } })],
  "rest, raw": ["raw", (url) => ({ transport: "rest", rest: { url } })],
  "rest, envelopes": ["envelopes", (url) => ({ transport: "rest", rest: { url } })],
};
const archive = rawZip([
  { name: "chain-1-trades-1-1-1000.csv", content: 'id,old\n1,\n2,""\n', descriptor: { signed: true, wide: false } },
  { name: "chain-1-trades-2-1001-3000.csv", content: "id,new\n3,x\n", descriptor: { signed: true, wide: false } },
]);
const rows = [
  { id: "1", old: null },
  { id: "2", old: "" },
  { id: "3", new: "x" },
];
const failed: ErrorObject = { code: Code.Internal, message: "segment 3 cannot be read", details: [] };

function chunksOf(bytes: Buffer, size = 40): Script {
  const chunks = cutEvery(bytes, size).map((data) => ({ contentType: "application/zip", data }));
  return { chunks };
}

async function exporting<T>(
  way: string,
  script: Script,
  run: (exported: NetworkHistoryExport, closed: Promise<void>) => Promise<T>,
): Promise<T> {
  const [wire, config] = ways[way] ?? ["raw", (url: string): ClientConfig => ({ rest: { url } })];
  await using server = await serveExport(wire, script);
  await using client = createClient(config(server.url));
  return await run(client.exportNetworkHistory(request, { extensions: "optional" }), server.closed);
}

async function taken(values: AsyncIterable<unknown>) {
  const all: unknown[] = [];
  try {
    for await (const value of values) {
      all.push(value);
    }
  } catch (error) {
    if (error instanceof TradewireError) {
      return { all, error };
    }
    throw error;
  }
  return { all, error: undefined };
}

describe.each(Object.keys(ways))("over %s, an export", (way) => {
  it.each(["chain-1-trades-1-3000.csv", "export.csv"])("gives typed rows of the table asked for, from %s", (name) => {
    const typed = rawZip([{ name, content: "price,size,aggressor\n12,3,1\n7,2,\n" }]);
    return exporting(way, chunksOf(typed), async (exported) => {
      expect(await taken(exported.rows({ typed: true }))).toEqual({
        all: [
          { price: 12n, size: 3n, aggressor: "SIDE_BUY" },
          { price: 7n, size: 2n, aggressor: null },
        ],
        error: undefined,
      });
      for await (const file of exported.files()) {
        const { all } = await taken(file.rows({ typed: true, table: "trades" }));
        expect(all).toHaveLength(2);
      }
    });
  });

  it("gives its rows, with their own columns or with all", async () => {
    await exporting(way, chunksOf(archive), async (exported) => {
      expect(await taken(exported.rows())).toEqual({ all: rows, error: undefined });
      expect((await taken(exported.rows({ columns: "union" }))).all).toEqual(
        rows.map((row) => ({ old: null, new: null, ...row })),
      );
    });
  });

  it("gives its files in order", async () => {
    await exporting(way, chunksOf(archive), async (exported) => {
      const ranges = [];
      for await (const { fromBlock, toBlock, columns, schemaVersion } of exported.files()) {
        ranges.push({ fromBlock, toBlock, columns, schemaVersion });
      }
      expect(ranges).toEqual([
        { fromBlock: 1n, toBlock: 1000n, columns: ["id", "old"], schemaVersion: 1n },
        { fromBlock: 1001n, toBlock: 3000n, columns: ["id", "new"], schemaVersion: 2n },
      ]);
    });
  });

  it("that fails after a whole archive fails after the rows", async () => {
    await exporting(way, { ...chunksOf(archive), end: failed }, async (exported) => {
      const { all, error } = await taken(exported.rows());
      expect(all).toEqual(rows);
      expect(error).toBeInstanceOf(NodeError);
      expect(error?.summary).toBe("the node answered INTERNAL: segment 3 cannot be read");
      expect(error?.method).toBe("datanode.api.v2.TradingDataService/ExportNetworkHistory");
    });
  });

  it("that fails in the middle of a file fails with the node's error", async () => {
    await exporting(way, { ...chunksOf(archive.subarray(0, 70)), end: failed }, async (exported) => {
      expect((await taken(exported.rows())).error?.summary).toContain("segment 3 cannot be read");
    });
  });

  it("whose connection is lost fails", async () => {
    await exporting(way, { ...chunksOf(archive.subarray(0, 130)), end: "cut" }, async (exported) => {
      expect((await taken(exported.rows())).error).toBeDefined();
    });
  });

  it("that lacks blocks fails, though its archive is sound", async () => {
    const short = rawZip([{ name: "chain-1-trades-1-2000.csv", content: "id\n1\n" }]);
    await exporting(way, chunksOf(short), async (exported) => {
      const { all, error } = await taken(exported.rows());
      expect(all).toEqual([{ id: "1" }]);
      expect(error).toBeInstanceOf(ProtocolError);
      expect(error?.summary).toContain("rows are missing");
    });
  });

  it("is closed when the reader stops, even where nothing more comes", async () => {
    await exporting(way, { ...chunksOf(archive.subarray(0, 120)), end: "wait" }, async (exported, closed) => {
      for await (const row of exported.rows()) {
        expect(row).toEqual(rows[0]);
        break;
      }
      await closed;
    });
  });

  it("is taken no faster than its rows are", async () => {
    const text = noise(4_000_000)
      .toString("hex")
      .replace(/.{1000}/g, "$&\n");
    const large = rawZip([{ name: "chain-1-trades-1-3000.csv", content: `id\n${text}`, stored: true }]);
    let bytes = 0;
    const [wire, config] = ways[way] ?? ["raw", (url: string): ClientConfig => ({ rest: { url } })];
    await using server = await serveExport(wire, chunksOf(large, 100_000));
    await using client = createClient(config(server.url));
    const onProgress = (progress: { readonly bytes: number }) => {
      bytes = progress.bytes;
    };
    for await (const row of client.exportNetworkHistory(request, { extensions: "optional", onProgress }).rows()) {
      expect(row["id"]).toHaveLength(1000);
      break;
    }
    expect(bytes).toBeLessThan(4_000_000);
  });
});
