import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Pool } from "pg";
import { openPostgresJournal } from "tradewire";
import { journalContract } from "tradewire/journal/contract";
import { type PostgresServer, startPostgres } from "../support/postgres.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function withPool(act: (pool: Pool) => Promise<void>): Promise<void> {
  const pool = new Pool({ connectionString: await server.createDatabase() });
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

  it.each(["Orders", "a b", 'a"; DROP TABLE x; --', ""])("refuses %j as the name of a table", async (table) => {
    await withPool(async (pool) => {
      await expect(openPostgresJournal(pool, { table })).rejects.toMatchObject({ name: "RequestError" });
    });
  });
});
