import { describe, expect, it, test } from "@jest/globals";
import { CanceledError, createClient, ProtocolError, RequestError, TradewireError, tableSchema } from "tradewire";
import type { Unit, UnitCsv } from "tradewire/sync";
import { cutEvery, noise } from "../support/archives.js";
import { eventually, standsStill } from "../support/eventually.js";
import { type Script, serveExport } from "../support/export-server.js";
import { rawZip } from "../support/raw-zip.js";
import { taken } from "../support/taken.js";
import { fetchUnit } from "./inside.js";

const { signal } = new AbortController();

async function bytesOf({ content }: UnitCsv): Promise<Buffer> {
  const { values, error } = await taken(content);
  if (error !== undefined) {
    throw error;
  }
  return Buffer.concat(values);
}

const unit: Unit = {
  chainId: "chain-1",
  table: "trades",
  fromBlock: 1n,
  toBlock: 1000n,
  segmentId: "b",
  previousSegmentId: "a",
  schemaVersion: 116n,
};
const header = tableSchema("trades", 116).columns.map(({ name }) => name);
const name = "chain-1-trades-116-000001-001000.csv";
const contentOf = (columns: readonly string[], text = "") => `${columns.join(",")}\n${text}`;
const row = `${"1,".repeat(header.length - 1)}1\n`;

/** The chunks of an archive of these files. */
function scriptOf(files: Parameters<typeof rawZip>[0], alter?: (zip: Buffer) => Buffer): Script {
  const zip = rawZip(files.map((file) => ({ descriptor: { signed: true, wide: false }, ...file })));
  const chunks = cutEvery(alter?.(zip) ?? zip, 1000).map((data) => ({ contentType: "application/zip", data }));
  return { chunks };
}

async function fetching<T>(
  script: Script,
  use: (fetch: () => Promise<UnitCsv>, closed: Promise<void>) => Promise<T>,
  wire: "grpc" | "raw" = "grpc",
  ending = signal,
): Promise<T> {
  await using server = await serveExport(wire, script);
  const { url } = server;
  const config = wire === "grpc" ? { transport: wire, grpc: { url } } : ({ transport: "rest", rest: { url } } as const);
  await using client = createClient({ ...config, profile: "deployed", retry: { tries: 1 } });
  return await use(fetchUnit(client, unit, { signal: ending }), server.closed);
}

/** The error of a unit, and whether it told its measures. */
async function failure(script: Script, wire: "grpc" | "raw" = "grpc") {
  return await fetching(
    script,
    async (fetch, closed) => {
      let csv: UnitCsv | undefined;
      try {
        csv = await fetch();
        await bytesOf(csv);
      } catch (error) {
        await closed; // The call is over.
        if (csv !== undefined) {
          expect(csv.measures).toThrow(RequestError);
        }
        if (error instanceof TradewireError) {
          return error;
        }
        throw error;
      }
      throw new Error("the unit was taken for whole");
    },
    wire,
  );
}

describe("an export that is not the unit's", () => {
  test.each([
    ["other-trades-116-1-1000.csv", 'contains the chain "other", but "chain-1" was requested'],
    ["chain-1-orders-116-1-1000.csv", "contains the table orders, but trades was requested"],
    ["chain-1-trades-116-2-1000.csv", "starts at block 2, but the export must start at block 1"],
    ["chain-1-trades-116-1-999.csv", "contains the blocks 1 to 999, but 1 to 1000 was requested"],
    ["chain-1-trades-115-1-1000.csv", "has schema version 115, but the segments 1 to 1000 are listed"],
    ["export.csv", 'contains "export.csv", a name without the chain'],
  ])("is refused: %s", async (other, message) => {
    const error = await failure(scriptOf([{ name: other, content: contentOf(header) }]));
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error.summary).toContain(message);
  });

  it("is refused where it holds no file, or more than one", async () => {
    expect((await failure(scriptOf([]))).summary).toContain("it contains no files");
    const two = scriptOf([
      { name, content: contentOf(header, row) },
      { name: "notes.csv", content: "a\n" },
    ]);
    expect((await failure(two)).summary).toContain('contains a second file, "notes.csv"');
  });

  it("is refused where columns of its version are missing, and not where there are others", async () => {
    const error = await failure(
      scriptOf([{ name, content: contentOf(header.filter((column) => column !== "price")) }]),
    );
    expect(error.message).toContain(`"${name}" lacks a column of trades, schema version 116: price\nIts rows were not`);
    const unnumbered = "chain-1-trades-1-1000.csv";
    const more = scriptOf([{ name: unnumbered, content: contentOf(["new", ...header], `,${row}`) }]);
    await fetching(more, async (fetch) => {
      const csv = await fetch();
      expect((await bytesOf(csv)).toString()).toBe(contentOf(["new", ...header], `,${row}`));
      expect(csv.measures()).toMatchObject({ rows: 1n });
    });
  });
});

describe.each(["grpc", "raw"] as const)("an export that breaks, over %s,", (wire) => {
  const whole = scriptOf([{ name, content: contentOf(header, row.repeat(2000)), stored: true }]);
  const code = { code: 13, message: "segment 3 cannot be read", details: [] };

  it("fails where the node says so behind a whole archive", async () => {
    expect((await failure({ ...whole, end: code }, wire)).summary).toContain("segment 3 cannot be read");
  });

  it("fails where the connection is lost, at any place", async () => {
    expect(await failure({ ...whole, end: "cut" }, wire)).toBeInstanceOf(TradewireError);
    for (const part of [1, 20, whole.chunks.length - 1]) {
      const cut = { chunks: whole.chunks.slice(0, part) };
      expect((await failure(cut, wire)).summary).toContain("truncated");
    }
  });

  it("fails where a byte was altered", async () => {
    const alter = (zip: Buffer) => {
      zip[zip.lastIndexOf("1,1\n")] = 0x32;
      return zip;
    };
    const altered = scriptOf([{ name, content: contentOf(header, row), stored: true }], alter);
    expect((await failure(altered, wire)).summary).toContain("CRC-32");
  });

  it("fails where the CSV is cut in a sound archive", async () => {
    const cut = scriptOf([{ name, content: contentOf(header, row.slice(0, -1)) }]);
    expect((await failure(cut, wire)).summary).toBe(`${name}, row 1: the file ends in the middle of a row`);
  });
});

describe("the content of a unit", () => {
  const text = noise(2 * 1024 * 1024).toString("base64url");
  const large = scriptOf([{ name, content: contentOf(header, row.replace("1,", `${text},`).repeat(2)), stored: true }]);

  it("ends the call where it is left early", async () => {
    await fetching(large, async (fetch, closed) => {
      const csv = await fetch();
      for await (const part of csv.content) {
        expect(part.length).toBeGreaterThan(0);
        break;
      }
      await closed;
      expect(csv.measures).toThrow("is not complete");
    });
  });

  it("ends the call where it is left while it waits for the node", async () => {
    const silent = { chunks: large.chunks.slice(0, 200), end: "wait" } as const;
    await fetching(silent, async (fetch, closed) => {
      const csv = await fetch();
      const content = csv.content[Symbol.asyncIterator]();
      let size = 0;
      const reading = (async () => {
        for (let part = await content.next(); part.done !== true; part = await content.next()) {
          size += part.value.length;
        }
      })().catch((reason: unknown) => reason);
      await eventually(() => size > 0);
      await standsStill(() => size); // All that the node sends has come.
      await content.return?.();
      expect([undefined, expect.any(CanceledError)]).toContainEqual(await reading);
      await closed;
      expect(csv.measures).toThrow("is not complete");
    });
  });

  it("ends where the signal is aborted, taken or not", async () => {
    for (const isTaken of [true, false]) {
      const ending = new AbortController();
      const silent = { chunks: large.chunks.slice(0, 200), end: "wait" } as const;
      await fetching(
        silent,
        async (fetch, closed) => {
          const { content } = await fetch();
          const reading = isTaken ? taken(content) : undefined;
          ending.abort();
          expect((await reading)?.error ?? new CanceledError()).toBeInstanceOf(CanceledError);
          await closed;
        },
        "grpc",
        ending.signal,
      );
    }
  });

  it("can be taken once, and is measured at its end", async () => {
    const small = scriptOf([{ name, content: contentOf(header, row.repeat(3)) }]);
    await fetching(small, async (fetch) => {
      const csv = await fetch();
      expect(csv.measures).toThrow(RequestError);
      const bytes = await bytesOf(csv);
      expect(csv.measures()).toMatchObject({ rows: 3n, bytes: BigInt(bytes.length) });
      expect(() => csv.content[Symbol.asyncIterator]()).toThrow("was already read\nRead it once");
      expect((await bytesOf(await fetch())).equals(bytes)).toBe(true); // Each fetch is a call of its own.
    });
  });
});
