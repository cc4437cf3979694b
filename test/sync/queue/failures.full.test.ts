import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Client } from "pg";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { Table } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { postgresSink, queueStatus, retryFailed } from "tradewire/sync";
import { eventually } from "../../support/eventually.js";
import { gate } from "../../support/gate.js";
import { type PostgresServer, startPostgres } from "../../support/postgres.js";
import { type Asked, type Program, startCountingNode, startProgram, TIMINGS } from "../../support/queue.js";

let server: PostgresServer;
let node: Devnode;
let url: string;
beforeAll(async () => {
  [server, node] = await Promise.all([
    startPostgres(),
    startDevnode({ activity: 2, blockMs: 0, segments: 6, blocksPerSegment: 10 }),
  ]);
  url = await server.createDatabase();
});
afterAll(async () => {
  await node.close();
  await server[Symbol.asyncDispose]();
});

const TABLES = ["trades", "blocks"];
const planning = { timings: TIMINGS, tables: TABLES, attempts: 2 };
const working = { timings: TIMINGS, countExports: false };

/** How often each unit of the ledger is there, which is once, and how many rows lie outside of it. */
async function ledger(schema: string): Promise<{ readonly units: number; readonly strayRows: number }> {
  const client = new Client(url);
  await client.connect();
  try {
    const { rows } = await client.query(
      `SELECT (SELECT count(*)::int FROM ${schema}.tradewire_ledger) AS units,
         (SELECT count(*)::int FROM ${schema}.blocks) - (SELECT sum(rows)::int FROM ${schema}.tradewire_ledger WHERE table_name = 'blocks')
         + (SELECT count(*)::int FROM ${schema}.trades) - (SELECT sum(rows)::int FROM ${schema}.tradewire_ledger WHERE table_name = 'trades') AS "strayRows"`,
    );
    return rows[0];
  } finally {
    await client.end();
  }
}

async function end(...programs: readonly Program[]): Promise<void> {
  for (const { child } of programs) {
    child.kill("SIGTERM");
  }
  await Promise.all(programs.map(({ ended }) => ended));
}

describe("a queue", () => {
  it("keeps a unit that fails each time as a dead letter, lets the others go on, and puts it back when told", async () => {
    let broken = true;
    const isIt = ({ table, fromBlock }: Asked) => table === String(Table.TRADES) && fromBlock === 11n;
    await using counting = await startCountingNode(node.grpcUrl, {
      async before(asked) {
        if (broken && isIt(asked)) {
          throw new ConnectError("no such luck", Code.Internal);
        }
      },
    });
    const given = { postgres: url, schema: "dead", grpcUrl: counting.url };
    const worker = await startProgram("worker", { ...given, options: working });
    const planner = await startProgram("planner", { ...given, options: planning });
    await planner.ended;
    const unit = { table: "trades", fromBlock: "11", toBlock: "20" };
    expect(planner.said.at(-1)).toMatchObject({ kind: "ended", summary: { units: 11, failed: [{ unit }] } });
    expect(counting.asked.filter(isIt)).toHaveLength(2);
    const sink = postgresSink(url, { schema: "dead" });
    expect(await queueStatus(sink)).toMatchObject({
      waiting: 0,
      backoff: 0,
      underWay: [],
      deadLetters: [
        {
          unit: { table: "trades", fromBlock: 11n },
          tries: 2,
          node: "node",
          error: expect.stringContaining("no such luck"),
        },
      ],
      workers: [{ silent: false }],
      nodes: [{ node: "node", failures: 0 }],
    });
    broken = false;
    expect(await retryFailed(sink)).toBe(1);
    expect(await retryFailed(sink)).toBe(0);
    await eventually(async () => (await ledger("dead")).units === 12);
    const again = await startProgram("planner", { ...given, options: planning });
    await again.ended;
    expect(again.said.at(-1)).toMatchObject({ kind: "ended", summary: { failed: [] } });
    await end(worker);
  });

  it("loads nothing twice where a worker was frozen for longer than it may be silent", async () => {
    const holding: (() => void)[] = [];
    let hold = true;
    await using counting = await startCountingNode(node.grpcUrl, {
      before: () => (hold ? new Promise<void>((resolve) => holding.push(resolve)) : Promise.resolve()),
    });
    const given = { postgres: url, schema: "frozen", grpcUrl: counting.url };
    const frozen = await startProgram("worker", { ...given, options: working });
    const planner = await startProgram("planner", { ...given, options: planning });
    await eventually(() => holding.length === 2);
    frozen.child.kill("SIGSTOP");
    hold = false;
    for (const go of holding) {
      go();
    }
    const other = await startProgram("worker", { ...given, options: working });
    await other.saying("loaded", 10);
    await other.saying("skipped"); // The units of the frozen one were put back, and it still holds them.
    frozen.child.kill("SIGCONT");
    await planner.ended;
    expect(planner.said.at(-1)).toMatchObject({ kind: "ended", summary: { units: 12, failed: [] } });
    await end(frozen, other);
    expect([frozen, other].flatMap(({ said }) => said.filter((event) => event.kind === "loaded"))).toHaveLength(12);
    expect(await ledger("frozen")).toEqual({ units: 12, strayRows: 0 });
  });

  it("gets the units of a worker that is told to stop back at once, with all of their attempts", async () => {
    let hold = true;
    await using counting = await startCountingNode(node.grpcUrl, {
      before: () => (hold ? new Promise(() => undefined) : Promise.resolve()),
    });
    const given = { postgres: url, schema: "stopped", grpcUrl: counting.url };
    const stopped = await startProgram("worker", { ...given, options: working });
    const planner = await startProgram("planner", { ...given, options: { ...planning, attempts: 1 } });
    await stopped.saying("began", 2);
    await end(stopped);
    expect(stopped.said.at(-1)).toEqual({ kind: "ended", summary: { units: 0, rows: "0", bytes: "0", failures: 0 } });
    const sink = postgresSink(url, { schema: "stopped" });
    expect(await queueStatus(sink)).toMatchObject({
      waiting: 12,
      backoff: 0,
      underWay: [],
      deadLetters: [],
      workers: [],
    });
    hold = false;
    const other = await startProgram("worker", { ...given, options: working });
    await planner.ended;
    expect(planner.said.at(-1)).toMatchObject({ kind: "ended", summary: { units: 12, failed: [] } });
    await end(other);
  });

  it("goes on where the node was restarted, and does not storm it", async () => {
    let [exports, isRestarted] = [0, false];
    await using counting = await startCountingNode(node.grpcUrl, {
      async before() {
        exports += 1;
        if (exports > 4 && !isRestarted) {
          await new Promise(() => undefined); // Until it is cut off.
        }
      },
    });
    const given = { postgres: url, schema: "restarted", grpcUrl: counting.url };
    const workers = await Promise.all([1, 2].map(() => startProgram("worker", { ...given, options: working })));
    const planner = await startProgram("planner", { ...given, options: { ...planning, attempts: 5 } });
    await Promise.race(workers.map((worker) => worker.saying("loaded")));
    await counting.stop();
    const sink = postgresSink(url, { schema: "restarted" });
    await eventually(async () => ((await queueStatus(sink))?.nodes[0]?.failures ?? 0) >= 3);
    expect((await queueStatus(sink))?.nodes[0]).toMatchObject({ node: "node", error: expect.any(String) });
    const before = counting.asked.length;
    isRestarted = true;
    await counting.restart();
    await planner.ended;
    expect(planner.said.at(-1)).toMatchObject({ kind: "ended", summary: { units: 12, failed: [] } });
    expect(before).toBeLessThan(12);
    expect(await ledger("restarted")).toEqual({ units: 12, strayRows: 0 });
    expect((await queueStatus(sink))?.nodes).toEqual([{ node: "node", failures: 0 }]);
    await end(...workers);
  });

  it("goes on where PostgreSQL was restarted", async () => {
    let exports = 0;
    const crashed = gate();
    await using counting = await startCountingNode(node.grpcUrl, {
      async before() {
        exports += 1;
        await (exports > 4 ? crashed.promise : undefined);
      },
    });
    const given = { postgres: url, schema: "crashed", grpcUrl: counting.url };
    const workers = await Promise.all([1, 2].map(() => startProgram("worker", { ...given, options: working })));
    const planner = await startProgram("planner", { ...given, options: { ...planning, attempts: 5 } });
    await Promise.race(workers.map((worker) => worker.saying("loaded")));
    await server.crash();
    crashed.open();
    await planner.ended;
    expect(planner.said.at(-1)).toMatchObject({ kind: "ended", summary: { failed: [] } });
    expect(await ledger("crashed")).toEqual({ units: 12, strayRows: 0 });
    await end(...workers);
    for (const { said } of workers) {
      expect(said.at(-1)).toMatchObject({ kind: "ended" });
    }
  });
});
