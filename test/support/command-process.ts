import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import type { Outcome } from "./command.js";

/** Path of the command's program, which `npm run build` makes. */
export const main = resolve("dist/src/cli/main.js");

/** A process that may still be running. */
export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Outcome>;
  /** The first line of its standard output. */
  readonly firstLine: Promise<string>;
}

/** Start a program. Its output is captured. */
export function start(
  program: string,
  args: readonly string[],
  cwd?: string,
  environment: Readonly<Record<string, string>> = {},
): Running {
  if (!existsSync(main)) {
    throw new Error("the command is not built: run `npm run build`");
  }
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...environment },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const firstLine = new Promise<string>((found) => {
    let seen = "";
    child.stdout.on("data", (bytes: Buffer) => {
      seen += bytes.toString();
      if (seen.includes("\n")) {
        found(seen.slice(0, seen.indexOf("\n")));
      }
    });
  });
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]).then(
    ([out, err, [code]]) => ({ code: typeof code === "number" ? code : null, out, err }),
  );
  return { child, ended, firstLine };
}

/** Start `tradewire` in a process of its own. */
export function startProcess(
  args: readonly string[],
  cwd?: string,
  environment?: Readonly<Record<string, string>>,
): Running {
  return start(process.execPath, [main, ...args], cwd, environment);
}

/** Run a shell script in which `tradewire` is the command. */
export function shell(script: string, args: readonly string[], cwd: string): Promise<Outcome> {
  const named = `tradewire() { "${process.execPath}" "${main}" "$@"; }; ${script}`;
  return start("sh", ["-c", named, "sh", ...args], cwd).ended;
}
