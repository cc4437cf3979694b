import { rename, truncate } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import {
  compactParquet,
  duckdbSink,
  parquetSink,
  postgresSink,
  repairSync,
  type Sink,
  type SyncClient,
  verifySync,
} from "tradewire/sync";
import { type PostgresServer, startPostgres } from "../support/postgres.js";
import { type Syncing, startSyncing } from "../support/syncing.js";
import { withClient } from "./sinks/postgres/open-sink.js";

let server: PostgresServer;
let syncing: Syncing;
beforeAll(async () => {
  [server, syncing] = await Promise.all([startPostgres(), startSyncing()]);
});
afterAll(async () => {
  await syncing[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const CHANGE = ["DELETE FROM blocks WHERE _from_block = 1", "UPDATE trades SET size = size + 1 WHERE _from_block = 21"];

/** A place of each kind, and what changes two of its units. */
const places: readonly (readonly [kind: string, () => Promise<readonly [() => Sink, () => Promise<unknown>]>])[] = [
  [
    "PostgreSQL",
    async () => {
      const url = await server.createDatabase();
      return [() => postgresSink(url), () => withClient(url, (client) => client.query(CHANGE.join(";")))];
    },
  ],
  [
    "DuckDB",
    async () => {
      const file = join(syncing.folder, "repaired.duckdb");
      return [
        () => duckdbSink(file),
        async () => {
          const instance = await DuckDBInstance.create(file);
          const connection = await instance.connect();
          await connection.run(CHANGE.join(";"));
          connection.closeSync();
          instance.closeSync();
        },
      ];
    },
  ],
  [
    "Parquet",
    async () => {
      const folder = join(syncing.folder, "repaired");
      const damage = async () => {
        await truncate(join(folder, "data/table=blocks/from=0000000001/0000000001-0000000010.parquet"), 100);
        await truncate(join(folder, "data/table=trades/from=0000000021/0000000021-0000000030.parquet"), 90);
      };
      return [() => parquetSink(folder), damage];
    },
  ],
];

it.each(places)("loads the units that verify found wrong anew: %s", async (_kind, make) => {
  const [open, damage] = await make();
  await syncing.sync({ sink: open() }).done;
  await damage();
  const clients = syncing.clientOf();
  const verify = () => verifySync(open(), { clients, deep: true, tables: ["trades", "blocks"] });
  const { listed } = await verify();
  const units = listed.map(({ entry }) => entry);
  expect(units.map(({ table, fromBlock }) => [table, fromBlock])).toEqual([
    ["trades", 21n],
    ["blocks", 1n],
  ]);
  // A unit whose segment the node does not have is left as it is.
  const [trades] = units;
  const other = trades === undefined ? [] : [{ ...trades, segmentId: "other" }];
  expect(await repairSync(clients, { sink: open(), units: other })).toMatchObject({
    units: 0,
    failed: [{ unit: { segmentId: "other" }, error: { message: expect.stringContaining("no reachable node lists") } }],
  });
  expect(await verify()).toMatchObject({ unsound: 2 });
  expect(await repairSync(clients, { sink: open(), units })).toMatchObject({ units: 2, failed: [] });
  expect(await verify()).toMatchObject({ units: 8, compared: 8, unsound: 0, gaps: [] });
});

/** A client of the node, whose history begins with a block. */
function clientFrom(block: bigint): SyncClient {
  const client = syncing.clientOf();
  return {
    listSegments: async (options) =>
      (await client.listSegments(options)).filter(({ fromHeight }) => fromHeight >= block),
    exportNetworkHistory: (range, options) => client.exportNetworkHistory(range, options),
  };
}

it("compares a joined unit whose oldest segments no node has any more as far as one has it, and says the rest", async () => {
  const folder = join(syncing.folder, "joined");
  const open = () => parquetSink(folder);
  await syncing.sync({ sink: open(), tables: ["blocks"] }).done;
  await compactParquet(folder);
  const clients = clientFrom(31n);
  const verify = () => verifySync(open(), { clients, deep: true, tables: ["blocks"] });
  const uncompared = [{ table: "blocks", fromBlock: 1n, toBlock: 30n }];
  expect(await verify()).toMatchObject({ units: 2, rows: 40n, compared: 1, unsound: 0, uncompared });
  const file = join(folder, "data/table=blocks/from=0000000021/0000000021-0000000040.parquet");
  const change = async (height: number) => {
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    const rows = `SELECT * REPLACE (if(height = ${height}, 999, height)::BIGINT AS height) FROM read_parquet('${file}', hive_partitioning = false)`;
    await connection.run(`COPY (${rows}) TO '${file}.new' (FORMAT parquet)`);
    connection.closeSync();
    instance.closeSync();
    await rename(`${file}.new`, file);
  };
  await change(35);
  const found = await verify();
  const deep = { sameCsv: true, missing: 1n, extra: 1n, fromBlock: 31n };
  expect(found).toMatchObject({ compared: 1, unsound: 1, uncompared, listed: [{ rows: 20n, deep, sound: false }] });
  const units = found.listed.map(({ entry }) => entry);
  expect(await repairSync(clients, { sink: open(), units })).toMatchObject({
    units: 0,
    failed: [
      {
        error: {
          summary: expect.stringContaining("has blocks 21 to 30 of blocks anymore"),
          advice: expect.stringContaining("Blocks 31 to 40 can be"),
        },
      },
    ],
  });
  // A node that has dropped all of it leaves its rows counted.
  const none = await verifySync(open(), { clients: clientFrom(41n), deep: true, tables: ["blocks"] });
  expect(none).toMatchObject({ units: 2, compared: 0, unsound: 0, uncompared: [{ fromBlock: 1n, toBlock: 40n }] });
  // One that still has all of it repairs it.
  expect(await repairSync(syncing.clientOf(), { sink: open(), units })).toMatchObject({ units: 1, failed: [] });
  expect(await verify()).toMatchObject({ compared: 1, unsound: 0 });
});
