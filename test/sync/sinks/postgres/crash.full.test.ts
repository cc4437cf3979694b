import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { postgresSink } from "tradewire/sync";
import { builtProgram } from "../../../support/built-program.js";
import { type PostgresServer, startPostgres } from "../../../support/postgres.js";
import { blocksCsv, fetchOf, openingOf, unitOf } from "../../../support/units.js";
import { calm, count, withClient, withSink } from "./open-sink.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

describe("what ends at any time", () => {
  it("leaves nothing of a process that is killed while it loads", async () => {
    await withSink(server, async (sink, client, url) => {
      const program = await builtProgram("test/sync/sinks/postgres/loading-process.ts", "loading");
      const child = fork(program, [url]);
      await once(child, "message"); // It has sent half of the unit, and waits.
      expect((await client.query("SELECT FROM pg_locks WHERE locktype = 'advisory'")).rowCount).toBe(2);
      const unit = unitOf("blocks", 1, 10);
      expect(await sink.load(unit, fetchOf(""), calm)).toEqual({ outcome: "busy" });
      child.kill("SIGKILL");
      await once(child, "exit");
      for (let left = 1; left > 0; ) {
        left = (await client.query("SELECT FROM pg_locks WHERE locktype = 'advisory'")).rowCount ?? 0;
      }
      expect([await count(client), await count(client, "tradewire_ledger")]).toEqual([0, 0]);
      expect((await client.query("SELECT FROM pg_class WHERE relpersistence = 't'")).rowCount).toBe(0);
      expect(await sink.load(unit, fetchOf(blocksCsv(1, 10)), calm)).toMatchObject({ outcome: "loaded" });
    });
  });

  it("goes on after the server was killed while a unit was loaded, and with connections that were idle", async () => {
    const url = await server.createDatabase();
    await using sink = postgresSink(url);
    await sink.open(openingOf());
    await sink.load(unitOf("blocks", 1, 10), fetchOf(blocksCsv(1, 10)), calm);
    let crashed: Promise<void> | undefined;
    const crash = (part: number) => {
      crashed ??= part === 2 ? server.crash() : undefined;
      return crashed;
    };
    const loading = sink.load(unitOf("blocks", 11, 20), fetchOf(blocksCsv(11, 20), 4, crash), calm);
    await expect(loading).rejects.toMatchObject({ name: "SinkError", code: Code.Unavailable });
    await crashed;
    expect(await sink.load(unitOf("blocks", 11, 20), fetchOf(blocksCsv(11, 20)), calm)).toMatchObject({
      outcome: "loaded",
    });
    await server.crash(); // The connections of the pool are idle now.
    await withClient(url, async (client) => expect(await count(client)).toBe(20));
    expect(await sink.load(unitOf("blocks", 11, 20), fetchOf(""), calm)).toEqual({ outcome: "there" });
  });

  it("does not wait for the node where the server is gone", async () => {
    const url = await server.createDatabase();
    await using sink = postgresSink(url);
    await sink.open(openingOf());
    let crashed: Promise<void> | undefined;
    const stuck = fetchOf(blocksCsv(1, 10), 2, (part) => {
      if (part === 1) {
        crashed = server.crash();
        return new Promise(() => undefined);
      }
      return undefined;
    });
    await expect(sink.load(unitOf("blocks", 1, 10), stuck, calm)).rejects.toMatchObject({ code: Code.Unavailable });
    await crashed;
  });

  it.each([
    ["as soon as it is made", "messages"],
    ["during its first statement", "statement"],
  ])("ends no process where a server that stops ends a connection %s", async (_, at) => {
    const stopping = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => {
        if (at === "messages") {
          socket.end(Buffer.concat([...READY, TERMINATED]));
        } else {
          socket.once("data", () => socket.resetAndDestroy()).write(Buffer.concat(READY));
        }
      });
    }).listen(0, "127.0.0.1");
    await once(stopping, "listening");
    const address = stopping.address();
    const port = typeof address === "object" ? address?.port : undefined;
    await using sink = postgresSink(`postgres://me@127.0.0.1:${port}/history`);
    await expect(sink.open(openingOf())).rejects.toMatchObject({ name: "SinkError", code: Code.Unavailable });
    stopping.close();
  });
});

/** A message of PostgreSQL's protocol: its type, its length with the four bytes of that, and its body. */
function message(type: string, body: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, Buffer.from(body)]);
}

/** AuthenticationOk and ReadyForQuery. */
const READY = [message("R", "\0\0\0\0"), message("Z", "I")];
const TERMINATED = message("E", "SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0");
