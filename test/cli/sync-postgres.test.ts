import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Client } from "pg";
import { type Devnode, startDevnode } from "../../src/devnode/index.js";
import { main, run, start } from "../support/command.js";
import { type PostgresServer, startPostgres } from "../support/postgres.js";

let node: Devnode;
let server: PostgresServer;
beforeAll(async () => {
  [node, server] = await Promise.all([
    startDevnode({ segments: 3, blocksPerSegment: 10, blockMs: 0, activity: 1, chainId: "pg-1" }),
    startPostgres(),
  ]);
});
afterAll(async () => {
  await node.close();
  await server[Symbol.asyncDispose]();
});

const at = (to: string) => ["--grpc-url", node.grpcUrl, "--to", to];
const two = ["--table", "trades", "--table", "blocks"];

async function ask(url: string, query: string): Promise<unknown[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query(query)).rows;
  } finally {
    await client.end();
  }
}

describe("tradewire sync --to postgres:", () => {
  it("fills a schema of the URL, makes views, and keys after the rows", async () => {
    const url = await server.createDatabase();
    const more = ["--create-indexes", "after", "--named-views"];
    const { code, out, err } = await run(["sync", ...at(`${url}?schema=history`), ...two, ...more], tmpdir());
    expect(code).toBe(0);
    expect(out).toMatch(/^Loaded 90 rows of 6 units, /);
    expect(err).toContain("Making the primary keys and indexes.\n");
    const keys =
      "SELECT count(*)::int AS keys FROM pg_constraint WHERE contype = 'p' AND conrelid = 'history.trades'::regclass";
    expect(await ask(url, keys)).toEqual([{ keys: 1 }]);
    expect(await ask(url, "SELECT count(*)::int AS rows FROM history.trades_named")).toEqual([{ rows: 60 }]);
  });

  it("shares the work through a queue, which status shows", async () => {
    const url = await server.createDatabase();
    const worker = start(process.execPath, [main, "sync", "worker", ...at(url), "--json"], tmpdir());
    const planned = await run(["sync", "--queue", ...at(url), ...two, "--json"], tmpdir());
    expect(planned.code).toBe(0);
    const status = await run(["sync", "status", ...at(url), ...two], tmpdir());
    expect(status.out).toMatch(/^trades +3 +60 .* 0$/m);
    expect(status.out).toContain("Nothing is missing.");
    expect(status.out).toContain("Queue: 0 units wait, 0 wait to be tried again, 0 are under way, 0 were given up.");
    expect(status.out).toMatch(/ alive$/m);
    worker.child.kill("SIGTERM");
    const { code, out } = await worker.ended;
    expect(code).toBe(0);
    expect(JSON.parse(out.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
      event: "summary",
      units: 6,
      rows: "90",
    });
  });
});
