import { afterAll, beforeAll, describe, it } from "@jest/globals";
import { postgresSink } from "tradewire/sync";
import { type SinkHost, sinkContract } from "tradewire/sync/contract";
import { type PostgresServer, startPostgres } from "../../../support/postgres.js";
import { withClient } from "./open-sink.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** Values as PostgreSQL's COPY writes them. */
const asText = (value: unknown) => (value === null ? null : String(value));

async function withPlace(use: (host: SinkHost) => Promise<void>): Promise<void> {
  const url = await server.createDatabase();
  await use({
    makeSink: () => postgresSink(url, { schema: "history" }),
    readRows: (table) =>
      withClient(url, async (client) => {
        await client.query("SET timezone TO 'UTC'");
        const there = await client.query("SELECT to_regclass($1) IS NOT NULL AS yes", [`history.${table}`]);
        if (there.rows[0].yes !== true) {
          return null;
        }
        const types = { getTypeParser: () => asText };
        const { rows } = await client.query({ text: `SELECT * FROM history.${table}`, types });
        return rows;
      }),
  });
}

describe("what every sink promises, in PostgreSQL", () => {
  it.each(sinkContract)("$name", ({ run }) => withPlace(run));
});
