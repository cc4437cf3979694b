import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Pool, types } from "pg";
import { openPostgresJournal } from "tradewire";
import { journalContract } from "tradewire/journal/contract";
import { type PostgresServer, startPostgres } from "../../support/postgres.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function withPool(act: (pool: Pool) => Promise<void>): Promise<void> {
  const pool = new Pool({ connectionString: await server.createDatabase(), max: 4 });
  try {
    await act(pool);
  } finally {
    await pool.end();
  }
}

describe("a journal in PostgreSQL", () => {
  it.each(journalContract)("$name", ({ run }) =>
    withPool((pool) => run({ openJournal: () => openPostgresJournal(pool) })),
  );

  it("is shared by processes: one of them appends", async () => {
    await withPool(async (pool) => {
      const journals = await Promise.all([openPostgresJournal(pool), openPostgresJournal(pool)]);
      for (let round = 0; round < 20; round += 1) {
        const place = { position: round, isLast: false };
        const appended = await Promise.all(journals.map((journal, n) => journal.append("a", `${n}`, place)));
        expect(appended.filter((isAppended) => isAppended)).toHaveLength(1);
      }
    });
  });

  it("reads and writes whatever the program has set for the values of others", async () => {
    const parsers = [16, 20, 23, 25, 1184].map((oid) => [oid, types.getTypeParser(oid)] as const);
    try {
      for (const [oid] of parsers) {
        types.setTypeParser(oid, () => ({ odd: true }));
      }
      await withPool(async (pool) => {
        const journal = await openPostgresJournal(pool);
        expect(await journal.append("a", "first", { position: 0, isLast: false })).toBe(true);
        expect([await journal.read("a"), await journal.open()]).toEqual([["first"], ["a"]]);
      });
    } finally {
      for (const [oid, parser] of parsers) {
        types.setTypeParser(oid, parser);
      }
    }
  });

  it.each([
    [
      "SET ROLE other; CREATE TABLE tradewire_intents (id text)",
      /tradewire_intents in the schema "public" belongs to the role "other"/,
    ],
    [
      `CREATE FUNCTION public.seize() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'; ALTER FUNCTION public.seize() OWNER TO other;
       CREATE TRIGGER seize BEFORE INSERT ON tradewire_intents FOR EACH ROW EXECUTE FUNCTION public.seize()`,
      /the trigger seize on tradewire_intents/,
    ],
    ["CREATE RULE keep AS ON INSERT TO tradewire_intents DO INSTEAD NOTHING", /the rule keep on tradewire_intents/],
    ["GRANT DELETE ON tradewire_intents TO other", /the role "other" has the privilege DELETE/],
    ["GRANT UPDATE (is_last) ON tradewire_intents TO PUBLIC", /the role "PUBLIC" has the privilege UPDATE/],
    ["ALTER TABLE tradewire_intents ENABLE ROW LEVEL SECURITY", /not one that a journal creates/],
    ["ALTER TABLE tradewire_intents SET UNLOGGED", /not one that a journal creates/],
    ["ALTER TABLE tradewire_intents ALTER id TYPE varchar(3)", /not one that a journal creates/],
    ["ALTER TABLE tradewire_intents DROP CONSTRAINT tradewire_intents_pkey", /not one that a journal creates/],
    ["CREATE TABLE more () INHERITS (tradewire_intents)", /not one that a journal creates/],
  ])("refuses a table that others can change, or that stores entries otherwise: %s", async (change, message) => {
    await withPool(async (pool) => {
      await pool.query("DO $$ BEGIN CREATE ROLE other; EXCEPTION WHEN duplicate_object THEN NULL; END $$");
      await pool.query("GRANT CREATE ON SCHEMA public TO other");
      if (!change.startsWith("SET ROLE")) {
        await openPostgresJournal(pool);
      }
      await pool.query(change);
      await pool.query("RESET ROLE");
      await expect(openPostgresJournal(pool)).rejects.toMatchObject({
        name: "FileError",
        message: expect.stringMatching(message),
      });
    });
  });

  it.each(["Orders", "a b", 'a"; DROP TABLE x; --', ""])("refuses %j as the name of a table", async (table) => {
    await withPool(async (pool) => {
      await expect(openPostgresJournal(pool, { table })).rejects.toMatchObject({ name: "RequestError" });
    });
  });
});
