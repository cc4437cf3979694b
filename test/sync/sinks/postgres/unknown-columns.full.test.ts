import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { tableSchema, type UnknownPart } from "tradewire";
import { postgresSink } from "tradewire/sync";
import { type PostgresServer, startPostgres } from "../../../support/postgres.js";
import { blocksCsv, fetchOf, openingOf, unitOf } from "../../../support/units.js";
import { calm, count, entriesOf, withSink } from "./open-sink.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** Blocks with one column more. */
const withColumn = (name: string, from: number, to: number) =>
  blocksCsv(from, to)
    .trimEnd()
    .split("\n")
    .map((line, index) => `${line},${index === 0 ? name : `"new ${index}"`}\n`)
    .join("");

/** A row of markets in some state. */
function marketsCsv(...states: readonly string[]): string {
  const columns = tableSchema("markets", 116).columns.map(({ name }) => name);
  const rows = states.map((state, index) =>
    columns
      .map((name) => ({ id: `\\x0${index}`, tx_hash: "\\x00", vega_time: "2024-01-01 00:00:00+00", state })[name] ?? "")
      .join(),
  );
  return [columns.join(), ...rows, ""].join("\n");
}

describe("what a newer node sends", () => {
  it("adds columns while others load the table, and tells of each once", async () => {
    const reported: UnknownPart[] = [];
    const opening = { onUnknown: (unknown: UnknownPart) => reported.push(unknown) };
    await withSink(
      server,
      async (sink, client, url) => {
        await using other = postgresSink(url);
        await other.open(openingOf());
        let adding: Promise<unknown> | undefined;
        const meanwhile = async (part: number) => {
          if (part === 2) {
            adding = sink.load(unitOf("blocks", 11, 20), fetchOf(withColumn("a b", 11, 20)), calm);
            // The change waits, as the other one's rows are in its transaction.
            for (let waiting = 0; waiting === 0; ) {
              waiting = (await client.query("SELECT FROM pg_locks WHERE NOT granted")).rowCount ?? 0;
            }
          }
        };
        await other.load(unitOf("blocks", 1, 10), fetchOf(blocksCsv(1, 10), 4, meanwhile), calm);
        expect(await adding).toMatchObject({ outcome: "loaded" });
        await sink.load(unitOf("blocks", 21, 30), fetchOf(withColumn("a b", 21, 30)), calm);
        const { rows } = await client.query(
          `SELECT _from_block, count("a b")::int, min("a b") FROM blocks GROUP BY 1 ORDER BY 1`,
        );
        expect(rows).toEqual([
          { _from_block: "1", count: 0, min: null },
          { _from_block: "11", count: 10, min: "new 1" },
          { _from_block: "21", count: 10, min: "new 1" },
        ]);
        expect(reported).toEqual([{ file: "chain-1-blocks-116-11-20.csv", table: "blocks", column: "a b" }]);
        const [, second] = await entriesOf(sink);
        const anew = fetchOf(withColumn("a b", 11, 20));
        expect(second && (await sink.compareRows(second, anew, calm.signal))).toEqual({ missing: 0n, extra: 0n });
        const another = fetchOf(withColumn("c", 11, 20));
        expect(second && (await sink.compareRows(second, another, calm.signal))).toEqual({ missing: 10n, extra: 10n });
      },
      { opening },
    );
  });

  it("adds values of enums, one after the other, and asks for the unit again", async () => {
    const reported: UnknownPart[] = [];
    const opening = { tables: ["markets"] as const, onUnknown: (unknown: UnknownPart) => reported.push(unknown) };
    await withSink(
      server,
      async (sink, client) => {
        const load = () =>
          sink.load(unitOf("markets", 1, 10), fetchOf(marketsCsv("STATE_ACTIVE", "STATE_O'NEW", "STATE_2")), calm);
        expect(await load()).toMatchObject({ outcome: "loaded" });
        const { rows } = await client.query("SELECT state::text FROM markets ORDER BY id");
        expect(rows).toEqual([{ state: "STATE_ACTIVE" }, { state: "STATE_O'NEW" }, { state: "STATE_2" }]);
        expect(reported).toMatchObject([{ table: "markets", column: "state", value: "STATE_O'NEW" }]);
      },
      { opening },
    );
  });

  it("fails the unit alone where there is more unknown than can be added", async () => {
    const opening = { tables: ["blocks", "markets"] as const };
    await withSink(
      server,
      async (sink, client) => {
        const names = Array.from({ length: 201 }, (_, index) => `new_${index}`);
        const csv = blocksCsv(1, 1)
          .replace("hash\n", `hash,${names}\n`)
          .replace(/\n$/u, `${",x".repeat(201)}\n`);
        const failed = { name: "SinkError", code: Code.FailedPrecondition };
        await expect(sink.load(unitOf("blocks", 1, 10), fetchOf(csv), calm)).rejects.toMatchObject(failed);
        const { fields } = await client.query("SELECT * FROM blocks");
        expect(fields.map(({ name }) => name)).not.toContain("new_0");
        const value = fetchOf(marketsCsv("X".repeat(64)));
        await expect(sink.load(unitOf("markets", 1, 10), value, calm)).rejects.toMatchObject(failed);
        expect([await count(client), await count(client, "markets")]).toEqual([0, 0]);
      },
      { opening },
    );
  });

  it("fails the unit where that is wanted, and changes nothing", async () => {
    const opening = { tables: ["blocks", "markets"] as const, unknownColumns: "fail" as const };
    await withSink(
      server,
      async (sink, client) => {
        const column = sink.load(unitOf("blocks", 1, 10), fetchOf(withColumn("fresh", 1, 10)), calm);
        await expect(column).rejects.toThrow('the column "fresh" of blocks is unknown to this release');
        const value = sink.load(unitOf("markets", 1, 10), fetchOf(marketsCsv("STATE_NEW")), calm);
        await expect(value).rejects.toThrow('"STATE_NEW" in the column state of markets is unknown to this release');
        const long = sink.load(unitOf("blocks", 1, 10), fetchOf(withColumn("x".repeat(64), 1, 10)), calm);
        await expect(long).rejects.toMatchObject({ name: "SinkError", code: Code.Unimplemented });
        expect([await count(client), await count(client, "markets")]).toEqual([0, 0]);
      },
      { opening },
    );
  });
});
