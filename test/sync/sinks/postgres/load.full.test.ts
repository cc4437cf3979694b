import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ProtocolError } from "tradewire";
import { postgresSink } from "tradewire/sync";
import { type PostgresServer, startPostgres } from "../../../support/postgres.js";
import { blocksCsv, fetchOf, openingOf, unitOf } from "../../../support/units.js";
import { columnsOf, fetchOf as csvOf, rowOf } from "../support/units.js";
import { calm, count, entriesOf, withSink } from "./open-sink.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const never = () => Promise.reject(new Error("was fetched"));

describe("loading a unit into PostgreSQL", () => {
  it("makes its rows and its entry visible at once", async () => {
    await withSink(server, async (sink, client) => {
      const seen: unknown[] = [];
      const look = async () => seen.push([await count(client), await count(client, "tradewire_ledger")]);
      const unit = unitOf("blocks", 1, 300);
      const result = await sink.load(unit, fetchOf(blocksCsv(1, 300), 2, look), calm);
      expect(seen).toEqual([
        [0, 0],
        [0, 0],
      ]);
      expect(await count(client)).toBe(300);
      expect(result).toMatchObject({ outcome: "loaded", entry: { ...unit, rows: 300n } });
      const [entry, ...others] = await entriesOf(sink);
      expect(others).toEqual([]);
      expect(result).toEqual({ outcome: "loaded", entry });
      expect(entry?.loadedAt).toMatch(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      const first = "SELECT height, encode(hash, 'hex') AS hash, _from_block FROM blocks ORDER BY height LIMIT 1";
      const { rows } = await client.query(first);
      expect(rows).toEqual([{ height: "1", hash: "0000000000000001", _from_block: "1" }]);
    });
  });

  it("takes prices of a thousand digits", async () => {
    await withSink(
      server,
      async (sink, client) => {
        const prices = [`1${"0".repeat(999)}`, "9".repeat(999), `-${"9".repeat(1000)}`];
        const columns = columnsOf("orders");
        const rows = prices.map((price, seq) => rowOf("orders", { price, seq_num: String(seq) }));
        const result = await sink.load(unitOf("orders", 1, 300), csvOf(columns, rows), calm);
        expect(result.outcome).toBe("loaded");
        const found = await client.query(
          "SELECT price::text, max(price) OVER ()::text AS largest FROM orders ORDER BY seq_num",
        );
        expect(found.rows).toEqual(prices.map((price) => ({ price, largest: prices[0] })));
      },
      { opening: { tables: ["orders"] } },
    );
  });

  it("keeps nothing of one whose fetch fails, and throws that error unchanged", async () => {
    await withSink(server, async (sink, client) => {
      const cut = new ProtocolError("the archive was cut", { advice: "Try again." });
      const fetch = fetchOf(blocksCsv(1, 300), 3, (part) => (part === 2 ? Promise.reject(cut) : undefined));
      await expect(sink.load(unitOf("blocks", 1, 300), fetch, calm)).rejects.toBe(cut);
      await expect(sink.load(unitOf("blocks", 1, 300), () => Promise.reject(cut), calm)).rejects.toBe(cut);
      expect([await count(client), await count(client, "tradewire_ledger")]).toEqual([0, 0]);
      const again = await sink.load(unitOf("blocks", 1, 300), fetchOf(blocksCsv(1, 300)), calm);
      expect(again.outcome).toBe("loaded");
    });
  });

  it("refuses rows that are not as many as were sent, and values that do not fit", async () => {
    await withSink(server, async (sink, client) => {
      const fewer = async () => ({
        ...(await fetchOf(blocksCsv(1, 10))()),
        measures: () => ({ rows: 11n, bytes: 1n, sha256: "00" }),
      });
      await expect(sink.load(unitOf("blocks", 1, 10), fewer, calm)).rejects.toThrow(
        "read 10 rows of blocks from block 1, but 11 were sent",
      );
      const broken = fetchOf(`${blocksCsv(1, 10)}2024-01-01 00:00:00+00,eleven,\\x00\n`);
      await expect(sink.load(unitOf("blocks", 1, 10), broken, calm)).rejects.toMatchObject({
        name: "SinkError",
        message: expect.stringContaining('loading blocks from block 1: invalid input syntax for type bigint: "eleven"'),
      });
      expect([await count(client), await count(client, "tradewire_ledger")]).toEqual([0, 0]);
    });
  });

  it("fetches nothing that is there, or that another one is loading", async () => {
    await withSink(server, async (sink, _client, url) => {
      await using other = postgresSink(url);
      await other.open(openingOf());
      const outcomes: string[] = [];
      const meanwhile = async (part: number) => {
        if (part === 1) {
          outcomes.push((await other.load(unitOf("blocks", 11, 20), never, calm)).outcome);
        }
      };
      await sink.load(unitOf("blocks", 11, 20), fetchOf(blocksCsv(11, 20), 3, meanwhile), calm);
      for (const [from, to] of [
        [11, 20],
        [1, 11],
        [15, 16],
        [20, 30],
        [1, 30],
      ] as const) {
        outcomes.push((await other.load(unitOf("blocks", from, to), never, calm)).outcome);
      }
      expect(outcomes).toEqual(["busy", "there", "there", "there", "there", "there"]);
      const beside = await other.load(unitOf("blocks", 1, 10), fetchOf(blocksCsv(1, 10)), calm);
      expect(beside.outcome).toBe("loaded");
    });
  });

  it("keeps no block twice, even if another one has loaded it without holding it", async () => {
    await withSink(server, async (sink, client) => {
      const stealing = (from: number, to: number, rows: boolean) => async (part: number) => {
        if (part === 0) {
          await client.query("BEGIN");
          await client.query("SELECT set_config('tradewire.from_block', $1, true)", [String(from)]);
          await client.query(
            `INSERT INTO tradewire_ledger (chain_id, table_name, from_block, to_block, segment_id, previous_segment_id,
               schema_version, rows, bytes, sha256) VALUES ('chain-1', 'blocks', $1, $2, 'x', '', 116, 1, 1, '\\x00')`,
            [from, to],
          );
          if (rows) {
            await client.query("INSERT INTO blocks VALUES ('2024-01-01 00:00:15+00', 15, '\\x00')");
          }
          await client.query("COMMIT");
        }
      };
      const sameRows = fetchOf(blocksCsv(1, 30), 2, stealing(11, 20, true));
      expect(await sink.load(unitOf("blocks", 1, 30), sameRows, calm)).toEqual({ outcome: "there" });
      const otherRows = fetchOf(blocksCsv(41, 70), 2, stealing(51, 60, false));
      await expect(sink.load(unitOf("blocks", 41, 70), otherRows, calm)).rejects.toThrow(
        "another sync loaded blocks of blocks from 41 to 70 in the meantime",
      );
      const oneBlock = fetchOf(blocksCsv(71, 90), 2, stealing(61, 71, false));
      await expect(sink.load(unitOf("blocks", 71, 90), oneBlock, calm)).rejects.toThrow(
        "another sync loaded blocks of blocks from 71 to 90 in the meantime",
      );
      expect((await entriesOf(sink)).map(({ fromBlock }) => fromBlock)).toEqual([11n, 51n, 61n]);
      expect(await count(client)).toBe(1);
    });
  });

  it("replaces units of other segments, whole or not at all", async () => {
    await withSink(server, async (sink, client) => {
      for (const [from, to] of [
        [1, 10],
        [11, 20],
        [21, 30],
        [31, 40],
      ] as const) {
        await sink.load(unitOf("blocks", from, to), fetchOf(blocksCsv(from, to)), calm);
      }
      const replacing = { ...calm, replace: true };
      const same = await sink.load(unitOf("blocks", 11, 20), never, replacing);
      expect(same.outcome).toBe("there");
      const unit = unitOf("blocks", 15, 25, { segmentId: "other" });
      const cut = fetchOf(blocksCsv(15, 25), 2, (part) =>
        part === 1 ? Promise.reject(new ProtocolError("cut", { advice: "" })) : undefined,
      );
      await expect(sink.load(unit, cut, replacing)).rejects.toThrow("cut");
      expect(await count(client)).toBe(40);
      await sink.load(unit, fetchOf(blocksCsv(15, 25)), replacing);
      expect((await entriesOf(sink)).map(({ fromBlock, toBlock }) => [fromBlock, toBlock])).toEqual([
        [1n, 10n],
        [15n, 25n],
        [31n, 40n],
      ]);
      expect(await count(client)).toBe(31);
    });
  });

  it.each([
    ["begins", 10, 15],
    ["ends", 15, 20],
  ])("replaces a unit that overlaps another by one block alone, with which it %s", async (_how, from, to) => {
    await withSink(server, async (sink, client) => {
      const [before, behind] =
        from === 10
          ? [
              [1, 10],
              [16, 20],
            ]
          : [
              [20, 30],
              [10, 14],
            ];
      for (const [first = 0, last = 0] of [before, behind]) {
        await sink.load(unitOf("blocks", first, last), fetchOf(blocksCsv(first, last)), calm);
      }
      const unit = unitOf("blocks", from, to, { segmentId: "other" });
      const kept = await sink.load(unit, never, calm);
      expect(kept).toEqual({ outcome: "there" });
      await sink.load(unit, fetchOf(blocksCsv(from, to)), { ...calm, replace: true });
      const left = [[from, to], behind].map(([first = 0, last = 0]) => [BigInt(first), BigInt(last)]);
      expect((await entriesOf(sink)).map(({ fromBlock, toBlock }) => [fromBlock, toBlock])).toEqual(
        left.sort(([a = 0n], [b = 0n]) => Number(a - b)),
      );
      expect(await count(client)).toBe(to - from + 1 + ((behind?.[1] ?? 0) - (behind?.[0] ?? 0) + 1));
    });
  });

  it("counts, compares and removes the rows of a unit", async () => {
    await withSink(server, async (sink, client) => {
      await sink.load(unitOf("blocks", 1, 10), fetchOf(blocksCsv(1, 10)), calm);
      await sink.load(unitOf("blocks", 11, 20), fetchOf(blocksCsv(11, 20)), calm);
      const [first, second] = await entriesOf(sink);
      if (first === undefined || second === undefined) {
        throw new Error("two units were loaded");
      }
      const { signal } = calm;
      expect(await sink.compareRows(first, fetchOf(blocksCsv(1, 10)), signal)).toEqual({ missing: 0n, extra: 0n });
      await client.query("DELETE FROM blocks WHERE height IN (2, 3)");
      await client.query("UPDATE blocks SET hash = '\\x00' WHERE height = 4");
      expect(await sink.countRows(first)).toBe(8n);
      expect(await sink.compareRows(first, fetchOf(blocksCsv(1, 10)), signal)).toEqual({ missing: 3n, extra: 1n });
      await sink.remove({ ...first, segmentId: "other" });
      expect(await count(client)).toBe(18);
      await sink.remove(first);
      expect([await count(client), await entriesOf(sink)]).toEqual([10, [second]]);
    });
  });

  it("ends all waits when the signal is aborted, and loads on", async () => {
    await withSink(server, async (sink, client) => {
      const abort = new AbortController();
      const stuck = fetchOf(blocksCsv(1, 10), 2, (part) => {
        if (part === 1) {
          abort.abort();
          return new Promise(() => undefined);
        }
        return undefined;
      });
      const loading = sink.load(unitOf("blocks", 1, 10), stuck, { replace: false, signal: abort.signal });
      await expect(loading).rejects.toMatchObject({ name: "CanceledError" });
      expect((await sink.load(unitOf("blocks", 1, 10), fetchOf(blocksCsv(1, 10)), calm)).outcome).toBe("loaded");
      expect(await count(client)).toBe(10);
    });
  });
});
