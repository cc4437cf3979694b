import { it } from "@jest/globals";
import { postgresSink } from "tradewire/sync";
import { startPostgres } from "../../../support/postgres.js";
import { expectOneOfTwoHistories } from "../../../support/two-histories.js";

it("loads one of two histories of a chain that start into an empty schema of PostgreSQL at the same time", async () => {
  await using server = await startPostgres();
  const url = await server.createDatabase();
  await expectOneOfTwoHistories(() => postgresSink(url));
});
