// Programs of others: run to their end, or started and stopped.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";

/** How long a program may take, in seconds, and how long one that serves may take until it says where. */
const RUN_SECONDS = 120;
const START_MS = 120_000;
/** How much is shown of what a failed program has printed, in characters. */
const SHOWN = 3000;

/** Why a case is left out. */
export class LeftOut extends Error {}

/** Run a program to its end, with all that it has started: its exit code, and what it has printed. */
export async function finish(command, args, { cwd, env = {}, seconds = RUN_SECONDS } = {}) {
  const child = spawn("timeout", ["--kill-after=5", String(seconds), command, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code, out, err };
}

/** Run a program that must succeed: what it has printed on standard output. */
export async function run(command, args, options) {
  const { code, out, err } = await finish(command, args, options);
  if (code !== 0) {
    throw new Error(`${command} ${args.join(" ")} ended with ${code}\n${`${out}${err}`.trim().slice(-SHOWN)}`);
  }
  return out;
}

/** Whether a program is on the PATH. */
export async function isThere(program) {
  const { code } = await finish("sh", ["-c", 'command -v "$0"', program]);
  return code === 0;
}

/** Require a program on the PATH. */
export async function need(program) {
  if (!(await isThere(program))) {
    throw new LeftOut(`${program} is not installed`);
  }
}

/** Start a program that prints a line of JSON when it is there, and ends when its standard input does. */
export async function start(command, args) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
  const err = text(child.stderr);
  const ended = once(child, "close");
  const stop = () => {
    child.stdin.end();
    return ended;
  };
  try {
    const [line] = await once(createInterface({ input: child.stdout }), "line", {
      signal: AbortSignal.timeout(START_MS),
    });
    return { said: JSON.parse(line), stop };
  } catch (cause) {
    await stop();
    throw new Error(`${command} ${args.join(" ")} did not start\n${await err}`, { cause });
  }
}
