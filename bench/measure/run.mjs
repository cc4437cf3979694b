// One run of a row: a process of its own, with its time, its CPU and its peak memory.
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const peer = fileURLToPath(new URL("../peers/process.mjs", import.meta.url));
const goFolder = fileURLToPath(new URL("../go", import.meta.url));
const goClient = `${root}node_modules/.cache/bench/client`;
const GNU_TIME = "/usr/bin/time";
const LIMIT_MS = 10 * 60_000;
let go;

/** Run a row once, in the checkout that its build is of. With a file for it, write a profile of what a row of ours does. */
export async function runOnce(row, profileFile) {
  const { folder = root } = row;
  if (row.peer !== undefined) {
    const [module, task, args] = row.peer;
    const more = profileFile === undefined ? [] : [profileFile];
    return ofProcess(process.execPath, [peer, module, task, JSON.stringify(args), ...more], folder);
  }
  if (row.go !== undefined) {
    go ??= buildGo();
    return go.absent === undefined ? ofProcess(goClient, row.go, folder) : go;
  }
  const missing = (row.needs ?? []).find((program) => !isThere(program));
  if (missing !== undefined) {
    return { absent: `${missing} is not installed` };
  }
  const profiled =
    profileFile &&
    `node --cpu-prof --cpu-prof-interval=100 --cpu-prof-dir=${dirname(profileFile)} --cpu-prof-name=${basename(profileFile)}`;
  return ofShell(profiled ? row.shell.replace(/^node/, profiled) : row.shell, folder);
}

async function ofProcess(file, args, cwd) {
  const { stdout } = await run(file, args, { cwd, timeout: LIMIT_MS });
  return JSON.parse(stdout);
}

/** The time of a command and all that it starts, by bash; its memory, that of its largest process, by GNU time. */
async function ofShell(command, cwd) {
  const measured = isThere(GNU_TIME) ? `${GNU_TIME} -f %M` : "";
  const script = `
    exec 4>&2
    TIMEFORMAT='%3R %3U %3S'
    { time peak=$(${measured} sh -ec "exec > /dev/null 2>&4; $1" 2>&1); } 2>&1 && echo "$peak"`;
  const { stdout } = await run("bash", ["-c", script, "bash", command], { cwd, timeout: LIMIT_MS });
  const [seconds, user, system, kibibytes] = stdout.trim().split(/\s+/).map(Number);
  return { seconds, cpu: user + system, peak: kibibytes === undefined ? undefined : kibibytes / 1024 };
}

/** Whether a program is on the PATH. */
export function isThere(program) {
  try {
    execFileSync("sh", ["-c", 'command -v "$0"', program], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function buildGo() {
  if (!isThere("go")) {
    return { absent: "go is not installed" };
  }
  try {
    mkdirSync(`${root}node_modules/.cache/bench`, { recursive: true });
    execFileSync("go", ["build", "-o", goClient, "."], { cwd: goFolder, stdio: "pipe", timeout: LIMIT_MS });
    return {};
  } catch (reason) {
    return { absent: `the Go client cannot be built: ${String(reason.stderr).trim().split("\n").at(-1)}` };
  }
}
