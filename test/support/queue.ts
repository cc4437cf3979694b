import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Client as Postgres } from "pg";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import type { QueueOptions, WorkerOptions } from "tradewire/sync";
import { builtProgram } from "./built-program.js";
import { freePort } from "./free-port.mjs";
import { startPostgres } from "./postgres.js";
import { serveRoutes, type TestServer } from "./servers.js";

/** A node, a database, and a connection to it. */
export interface QueuePlace extends AsyncDisposable {
  readonly node: Devnode;
  /** The URL of the database. */
  readonly url: string;
  readonly client: Postgres;
}

/** Start a local node, whose history stands still, and a PostgreSQL. */
export async function startQueuePlace(segments: number): Promise<QueuePlace> {
  const [server, node] = await Promise.all([
    startPostgres(),
    startDevnode({ activity: 2, blockMs: 0, segments, blocksPerSegment: 10 }),
  ]);
  const url = await server.createDatabase();
  const client = new Postgres(url);
  await client.connect();
  return {
    node,
    url,
    client,
    async [Symbol.asyncDispose]() {
      await client.end();
      await node.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/**
 * Times with which tests of a queue do not wait long. A worker or leader counts as gone only after a time that does not
 * pass between two of its beats on a loaded machine.
 */
export const TIMINGS = {
  heartbeatMs: 200,
  leaseMs: 10_000,
  leaderHeartbeatMs: 300,
  leaderTimeoutMs: 10_000,
  checkMs: 100,
  idleMs: [50, 300] as const,
  listingMs: 200,
  newSegmentMs: 100,
  busyRetryMs: 300,
  unreachableRetryMs: 200,
  retrySeconds: 1,
  nodeBackoffMs: [100, 500] as const,
};

/** What a program of a queue is told. */
export interface ProgramOptions {
  readonly postgres: string;
  readonly schema: string;
  readonly grpcUrl: string;
  readonly options?: Omit<WorkerOptions & QueueOptions, "sink" | "signal" | "hooks"> | object;
}

/** A planner or a worker as a process. */
export interface Program {
  readonly child: ChildProcess;
  /** What it has said so far. */
  readonly said: { readonly kind: string; readonly [name: string]: unknown }[];
  /** Settled once it has ended. */
  readonly ended: Promise<unknown>;
  /** Wait until it says something. */
  saying(event: string, times?: number): Promise<void>;
}

/** Compiled once. */
let program: Promise<string> | undefined;

/** Start a planner or a worker. It is killed with this process at the latest. */
export async function startProgram(role: "planner" | "worker", options: ProgramOptions): Promise<Program> {
  program ??= builtProgram("test/support/queue-program.ts", "queue");
  const child = spawn(process.execPath, [await program, role, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  const said: { readonly kind: string }[] = [];
  const lines = createInterface({ input: child.stdout });
  const waiting = new Set<() => void>();
  lines.on("line", (line) => {
    said.push(JSON.parse(line));
    for (const look of waiting) {
      look();
    }
  });
  const ended = Promise.all([once(child, "exit"), once(lines, "close")]).then(() => {
    process.removeListener("exit", kill);
    for (const look of waiting) {
      look();
    }
  });
  return {
    child,
    said,
    ended,
    saying(event, times = 1) {
      return new Promise((resolve, reject) => {
        const look = () => {
          if (said.filter(({ kind: name }) => name === event).length >= times) {
            waiting.delete(look);
            resolve();
          } else if (child.exitCode !== null || child.signalCode !== null) {
            reject(new Error(`the ${role} ended without "${event}": ${JSON.stringify(said.slice(-5))}`));
          }
        };
        waiting.add(look);
        look();
      });
    },
  };
}

/** An export as a node is asked for it. */
export interface Asked {
  readonly table: string;
  readonly fromBlock: bigint;
}

/** A node that hands calls on to another one, and counts them. */
export interface CountingNode extends AsyncDisposable {
  readonly url: string;
  readonly listings: () => number;
  /** All exports that were asked for. */
  readonly asked: Asked[];
  /** The most exports at once. */
  readonly most: () => number;
  /** Stop listening, as a node that restarts does, and cut off what is under way. */
  stop(): Promise<void>;
  /** Listen again, on the same port. */
  restart(): Promise<void>;
}

/** Start a node that hands listings and exports on. */
export async function startCountingNode(
  target: string,
  { before = async () => undefined }: { readonly before?: (asked: Asked) => Promise<unknown> } = {},
): Promise<CountingNode> {
  const inner = createClient(TradingDataService, createGrpcTransport({ baseUrl: target }));
  const asked: Asked[] = [];
  let [listings, now, most] = [0, 0, 0];
  const serve = (port?: number) =>
    serveRoutes((router) => {
      router.service(TradingDataService, {
        listAllNetworkHistorySegments(request, { signal }) {
          listings += 1;
          return inner.listAllNetworkHistorySegments(request, { signal });
        },
        async *exportNetworkHistory(request, { signal }) {
          now += 1;
          most = Math.max(most, now);
          const what = { table: String(request.table), fromBlock: request.fromBlock };
          asked.push(what);
          try {
            await before(what);
            yield* inner.exportNetworkHistory(request, { signal });
          } finally {
            now -= 1;
          }
        },
      });
    }, port);
  let server: TestServer = await serve(await freePort());
  const { port, url } = server;
  return {
    url,
    asked,
    listings: () => listings,
    most: () => most,
    stop: () => server.close(),
    async restart() {
      server = await serve(port);
    },
    async [Symbol.asyncDispose]() {
      await server.close();
    },
  };
}

/** Compare two schemas that hold a sync: rows of either that the other lacks, ledgers included, by table. */
export async function differences(client: Postgres, a: string, b: string): Promise<Record<string, number>> {
  const { rows: tables } = await client.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r' AND relname NOT IN ('tradewire_sync', 'tradewire_markets', 'tradewire_assets', 'tradewire_accounts') ORDER BY 1",
    [a],
  );
  const found: Record<string, number> = {};
  for (const { name } of tables) {
    const row =
      name === "tradewire_ledger" ? "table_name || from_block || to_block || rows || sha256::text" : "t::text";
    const of = (schema: string) => `SELECT ${row} FROM ${schema}.${name} t`;
    const { rows } = await client.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM ((${of(a)} EXCEPT ALL ${of(b)}) UNION ALL (${of(b)} EXCEPT ALL ${of(a)})) x`,
    );
    if (rows[0]?.n !== 0) {
      found[name] = rows[0]?.n ?? -1;
    }
  }
  return found;
}
