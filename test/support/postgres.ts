import { Client } from "pg";
import { startServer } from "./postgres-server.mjs";

/** A PostgreSQL server of its own, empty. */
export interface PostgresServer extends AsyncDisposable {
  /** The URL of its database `postgres`, for its superuser. */
  readonly url: string;
  /** Run a function with a connection to a new, empty database. */
  withDatabase<T>(use: (client: Client) => Promise<T>): Promise<T>;
  /** Create a new, empty database. Returns its URL. */
  createDatabase(): Promise<string>;
  /** Kill the server as a loss of power would, and start it again on the same port. */
  crash(): Promise<void>;
  /** Kill the server, copy its files away, and start it again. */
  backUp(): Promise<void>;
  /** Kill the server, and start it again with the files that were copied away. */
  restore(): Promise<void>;
}

/** Start a real PostgreSQL on a port of loopback that the system gives. */
export async function startPostgres(): Promise<PostgresServer> {
  const server = await startServer(["fsync=off"]);
  let databases = 0;
  async function createDatabase(): Promise<string> {
    databases += 1;
    const name = `test_${databases}`;
    await connected(server.url, (client) => client.query(`CREATE DATABASE ${name}`));
    return server.url.replace(/postgres$/, name);
  }
  return {
    url: server.url,
    withDatabase: async (use) => connected(await createDatabase(), use),
    createDatabase,
    crash: () => server.killAndStart(),
    backUp: () => server.killAndSave(),
    restore: () => server.killAndSave(true),
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

async function connected<T>(url: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(url);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
