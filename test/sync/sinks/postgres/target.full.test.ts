import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { inspect } from "node:util";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { postgresSink } from "tradewire/sync";
import { type PostgresServer, startPostgres } from "../../../support/postgres.js";
import { openingOf } from "../../../support/units.js";
import { withClient } from "./open-sink.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const SECRET = "s3cret/of#mine";
const encoded = encodeURIComponent(SECRET);
const environment = { ...process.env };
afterEach(() => {
  process.env = { ...environment };
});

/** Open a sink that cannot be opened. Returns the error, in which the password must not be. */
async function failureOf(url: string): Promise<unknown> {
  await using sink = postgresSink(url);
  expect(sink.name).not.toContain("s3cret");
  const error = await sink.open(openingOf()).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/s3cret/u);
  return error;
}

describe("where a PostgreSQL is", () => {
  it.each([
    ["postgres://me:x@db.example:5433/history?sslmode=disable", "postgres://db.example:5433/history"],
    ["postgresql://db.example/history", "postgres://db.example:5432/history"],
    ["postgres:///history?host=/var/run/postgresql", "postgres:///var/run/postgresql:5432/history"],
  ])("is named without a password: %s", (url, name) => {
    expect(postgresSink(url).name).toBe(name);
    expect(postgresSink(url, { schema: "a b" }).name).toBe(`${name}, schema "a b"`);
  });

  it.each([
    `postgres://me:${SECRET}@db.example/history`,
    "postgres://me:1/s3cret@db.example/history",
    "postgres://me:1?s3cret@db.example/history",
    "https://me:s3cret@db.example/history",
    "s3cret",
  ])("is refused where the URL cannot be right, without a word of it: %s", (url) => {
    expect(() => postgresSink(url)).toThrow("invalid PostgreSQL URL");
    expect(() => postgresSink(url)).not.toThrow(/s3cret/u);
  });

  it.each(["", "x".repeat(64), "ä".repeat(32), "a\0b", "pg_mine"])("has no schema called %j", (schema) => {
    expect(() => postgresSink(server.url, { schema })).toThrow("invalid schema name");
  });
});

describe("a server that cannot be used", () => {
  it("is told as unavailable where nothing listens, and as a timeout where nothing answers", async () => {
    expect(await failureOf(`postgres://me:${encoded}@127.0.0.1:1/history`)).toMatchObject({ code: Code.Unavailable });
    const silent: Server = createServer((socket) => socket.resume()).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const address = silent.address();
    const port = typeof address === "object" ? address?.port : 0;
    process.env["PGCONNECT_TIMEOUT"] = "1";
    expect(await failureOf(`postgres://me:${encoded}@127.0.0.1:${port}/history`)).toMatchObject({
      name: "SinkError",
      code: Code.Unavailable,
    });
    silent.close();
  });

  it("is told without the password where that is wrong, or is a part of what the server says", async () => {
    await withClient(server.url, (client) =>
      client.query("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"),
    );
    const url = new URL(server.url);
    url.password = encoded;
    url.pathname = "/latin";
    expect(await failureOf(url.href)).toMatchObject({
      message: expect.stringContaining("encoding of the database must be UTF8 (got LATIN1)"),
    });
    url.pathname = "/postgres";
    url.username = encoded; // The server says: role "…" does not exist.
    expect(await failureOf(url.href)).toMatchObject({ code: Code.Unauthenticated });
  });

  it("takes what the URL leaves out from the environment", async () => {
    const { hostname, port } = new URL(server.url);
    Object.assign(process.env, { PGHOST: hostname, PGPORT: port, PGUSER: "postgres", PGDATABASE: "nowhere" });
    await using sink = postgresSink("postgres://");
    expect(sink.name).toBe(`postgres://${hostname}:${port}/nowhere`);
    await expect(sink.open(openingOf())).rejects.toMatchObject({ code: Code.NotFound });
    Object.assign(process.env, { PGSSLMODE: "verify-full", PGSSLROOTCERT: "/nowhere/root.pem" });
    expect(() => postgresSink("postgres://")).toThrow('cannot read the file "/nowhere/root.pem" of PGSSLROOTCERT');
  });
});
