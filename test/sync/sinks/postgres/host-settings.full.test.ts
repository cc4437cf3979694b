// What the host program and its environment set for others changes nothing of a sync.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { types } from "pg";
import { createClient } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { postgresSink, queueStatus, queueSync, runWorker, syncHistory, syncStatus } from "tradewire/sync";
import { type PostgresServer, startPostgres } from "../../../support/postgres.js";
import { takeWarnings } from "../../../support/warnings.js";

let node: Devnode;
let server: PostgresServer;
beforeAll(async () => {
  [node, server] = await Promise.all([
    startDevnode({ segments: 3, blocksPerSegment: 10, blockMs: 0, activity: 1 }),
    startPostgres(),
  ]);
});
afterAll(async () => {
  await node.close();
  await server[Symbol.asyncDispose]();
});

describe("with parsers of values that the host program has set", () => {
  const oids = [16, 17, 20, 21, 23, 25, 26, 114, 700, 701, 1009, 1184, 1700, 3802];
  const parsers = oids.map((oid) => [oid, types.getTypeParser(oid)] as const);
  beforeAll(() => {
    for (const oid of oids) {
      types.setTypeParser(oid, (text) => (oid === 16 ? (text === "t" ? 1 : 0) : { odd: text }));
    }
  });
  afterAll(() => {
    for (const [oid, parser] of parsers) {
      types.setTypeParser(oid, parser);
    }
  });
  const tables = ["trades", "blocks"] as const;

  it("loads, and says what is there", async () => {
    await using client = createClient({ grpc: { url: node.grpcUrl } });
    const url = await server.createDatabase();
    const summary = await syncHistory(client, { sink: postgresSink(url), tables });
    expect(summary).toMatchObject({ units: 6, rows: 90n, failed: [], gaps: [] });
    const status = await syncStatus(postgresSink(url), { clients: client });
    expect(status).toMatchObject({ missing: [], tables: [{ rows: 60n }, { rows: 30n }] });
  });

  it("shares the work through a queue", async () => {
    await using client = createClient({ grpc: { url: node.grpcUrl } });
    const url = await server.createDatabase();
    const ending = new AbortController();
    const planned = queueSync(client, { sink: postgresSink(url), tables });
    const worker = runWorker(client, { sink: postgresSink(url), signal: ending.signal });
    expect(await planned).toMatchObject({ units: 6, rows: 90n, failed: [] });
    expect(await queueStatus(postgresSink(url))).toMatchObject({ waiting: 0, underWay: [], deadLetters: [] });
    ending.abort();
    await worker.catch(() => undefined);
  });
});

it.each(["verify-full", "verify-ca", "require"])(
  "verifies the certificate with sslmode=%s, although the environment turns that off",
  async (mode) => {
    const pem = (name: string) => readFileSync(new URL(`../../../support/tls/${name}`, import.meta.url));
    const sockets = new Set<Socket>();
    let sent = 0;
    const listening = createServer((socket) => {
      sockets.add(socket.on("error", () => undefined));
      socket.once("data", () => {
        socket.write("S");
        const secure = new TLSSocket(socket, { isServer: true, key: pem("key.pem"), cert: pem("cert.pem") });
        secure
          .on("error", () => undefined)
          .on("data", (bytes) => {
            sent += bytes.length;
          });
      });
    }).listen(0, "127.0.0.1");
    await once(listening, "listening");
    const warnings = takeWarnings(); // Node warns of the setting once.
    const before = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    try {
      const { port } = listening.address() as AddressInfo;
      const sink = postgresSink(`postgres://me@127.0.0.1:${port}/history?sslmode=${mode}`);
      await expect(sink.inspect(AbortSignal.timeout(20_000))).rejects.toMatchObject({ name: "SinkError", code: 16 });
      await sink[Symbol.asyncDispose]();
      expect(sent).toBe(0);
    } finally {
      if (before === undefined) {
        delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
      } else {
        process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = before;
      }
      for (const socket of sockets) {
        socket.destroy();
      }
      listening.close();
      warnings[Symbol.dispose]();
    }
  },
);
