import { chmod, chown, copyFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Client } from "pg";
import { type Devnode, startDevnode } from "tradewire/devnode";
import type { Outcome } from "../support/command.js";
import { main, start } from "../support/command-process.js";
import { type PostgresServer, startPostgres } from "../support/postgres.js";

const SECRET = "s3cret/of#mine";
const tls = (name: string) => fileURLToPath(new URL(`../support/tls/${name}`, import.meta.url));

let node: Devnode;
let server: PostgresServer;
let place: string;
beforeAll(async () => {
  [node, server] = await Promise.all([
    startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0, chainId: "login-1" }),
    startPostgres(),
  ]);
  place = await withLogins(server.url);
});
afterAll(async () => {
  await node.close();
  await server[Symbol.asyncDispose]();
});

/** Lets the server ask for passwords, and speak TLS with a certificate for node.example. Returns host and port. */
async function withLogins(url: string): Promise<string> {
  const client = new Client(url);
  await client.connect();
  const shown = async (name: string) => String(Object.values((await client.query(`SHOW ${name}`)).rows[0])[0]);
  const [folder, rules] = [await shown("data_directory"), await shown("hba_file")];
  const owner = await stat(rules);
  for (const name of ["cert.pem", "key.pem"]) {
    const path = join(folder, name);
    await copyFile(tls(name), path);
    await chmod(path, 0o600);
    await chown(path, owner.uid, owner.gid);
  }
  for (const statement of [
    `CREATE ROLE plain LOGIN SUPERUSER PASSWORD '${SECRET}'`,
    `CREATE ROLE secure LOGIN SUPERUSER PASSWORD '${SECRET}'`,
    "ALTER SYSTEM SET ssl_cert_file = 'cert.pem'",
    "ALTER SYSTEM SET ssl_key_file = 'key.pem'",
    "ALTER SYSTEM SET ssl = on",
    "ALTER SYSTEM SET authentication_timeout = 600",
  ]) {
    await client.query(statement);
  }
  await writeFile(
    rules,
    "hostssl all secure all scram-sha-256\nhost all plain all scram-sha-256\nhost all postgres all trust\n",
  );
  await client.query("SELECT pg_reload_conf()");
  while ((await shown("ssl")) !== "on") {
    // The server reads its settings between two statements.
  }
  await client.end();
  return new URL(url).host;
}

/** Run the command; the machine's own passwords are left out of it. */
async function sync(url: string, environment: Record<string, string> = {}): Promise<Outcome> {
  const args = ["sync", "--to", url, "--table", "blocks", "--grpc-url", node.grpcUrl];
  const given = { PGPASSFILE: "/nowhere/pgpass", NODE_NO_WARNINGS: "1", ...environment };
  const outcome = await start(process.execPath, [main, ...args], tmpdir(), given).ended;
  expect(outcome.out + outcome.err).not.toContain("s3cret");
  return outcome;
}

describe("tradewire sync with a password", () => {
  it("says that there is none, and ends", async () => {
    const { code, err } = await sync(`postgres://plain@${place}/postgres`);
    expect(err).toContain(
      "the server requires a password, and none is set\nSet PGPASSWORD, write the password to ~/.pgpass",
    );
    expect(code).toBe(1);
  });

  it("takes it from PGPASSWORD and from a password file, and refuses a wrong one", async () => {
    const url = `postgres://plain@${place}/postgres`;
    expect(await sync(url, { PGPASSWORD: SECRET })).toMatchObject({ code: 0 });
    const file = join(tmpdir(), `tradewire-pgpass-${process.pid}`);
    await writeFile(file, `*:*:*:plain:${SECRET}\n`, { mode: 0o600 });
    expect(await sync(url, { PGPASSFILE: file })).toMatchObject({ code: 0 });
    await rm(file);
    const wrong = await sync(url, { PGPASSWORD: "s3cret" });
    expect(wrong.code).toBe(1);
    expect(wrong.err).toMatch(
      /password authentication failed .*\nCheck the user, the password and the user's privileges\.\n$/,
    );
  });

  it("says that there is no such database, and makes none", async () => {
    const { code, err } = await sync(`postgres://plain@${place}/histroy`, { PGPASSWORD: SECRET });
    expect(err).toMatch(/database "histroy" does not exist\nCreate the database first, or correct its name\.\n$/);
    expect(code).toBe(1);
  });
});

describe("tradewire sync over TLS", () => {
  const secret = { PGPASSWORD: SECRET };
  const at = (query: string) => `postgres://secure@${place}/postgres?${query}`;

  it("loads where the authority is known", async () => {
    const query = `sslmode=verify-ca&uselibpqcompat=true&sslrootcert=${tls("cert.pem")}`;
    expect(await sync(at(query), secret)).toMatchObject({ code: 0 });
  });

  it.each([
    ["an authority that is not known", "sslmode=verify-full"],
    ["another name", `sslmode=verify-full&sslrootcert=${tls("cert.pem")}`],
    ["the system's authorities", "sslmode=verify-full&sslrootcert=system"],
  ])("refuses a certificate, and says how to name its authority: %s", async (_, query) => {
    const { code, err } = await sync(at(query), secret);
    expect(err).toContain("\nSet the certificate authority,");
    expect(code).toBe(1);
  });

  it("refuses a file that cannot be read at once, and does not wait for it", async () => {
    const { code, err } = await sync(at("sslmode=verify-full&sslrootcert=/nowhere/ca.pem"), secret);
    expect(err).toContain('cannot read the file "/nowhere/ca.pem" of sslrootcert in the URL');
    expect(code).toBe(2);
  });
});
