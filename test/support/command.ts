import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import type * as Program from "../../src/cli/program.js";

/** The entry of the built command for those who bring streams of their own. */
const program = resolve("dist/src/cli/program.js");
if (!existsSync(program)) {
  throw new Error("the command is not built: run `npm run build`");
}
const { createProgram, runCommand, Interruption }: typeof Program = await import(pathToFileURL(program).href);
const { version } = JSON.parse(readFileSync("package.json", "utf8"));

/** The exit code and the output of a command that has ended. */
export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A command that may still be running. */
export interface Running {
  /** Do what a signal to the command's process does. */
  interrupt(signal: Program.Interruption["by"]): void;
  readonly ended: Promise<Outcome>;
  /** Its standard output, as it comes. */
  readonly stdout: Readable;
  /** Its environment variables, as it has left them so far. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Returns what it has written to standard output so far. */
  printed(): string;
  /** The first line of its standard output. */
  readonly firstLine: Promise<string>;
  /** Returns what it has written to standard error so far. */
  said(): string;
}

/** What a command is run with, beside its arguments. */
export interface RunOptions {
  /** Its working directory; that of the tests by default. Commands that run at the same time have one. */
  readonly cwd?: string | undefined;
  /** Further environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The size of the terminal that standard output is; by default it is none. */
  readonly terminal?: { readonly columns: number; readonly rows: number };
  /** Standard input; empty by default. */
  readonly input?: string | Uint8Array | Readable;
}

/** Start `tradewire`, as it was built, in this process. */
export function startCommand(args: readonly string[], options: RunOptions = {}): Running {
  const { cwd, input = "", terminal } = options;
  const environment = { ...process.env, ...options.environment };
  const interrupted = new AbortController();
  const [out, err] = [captured(), captured()];
  const code = inFolder(cwd, () =>
    runCommand({
      args,
      version,
      in: input instanceof Readable ? input : Readable.from([Buffer.from(input)]),
      out: terminal === undefined ? out.stream : Object.assign(out.stream, { isTTY: true, ...terminal }),
      err: err.stream,
      environment,
      signal: interrupted.signal,
    }),
  );
  return {
    interrupt: (signal) => interrupted.abort(new Interruption(signal)),
    ended: code
      .then((code) => ({ code, out: out.text(), err: err.text() }))
      .finally(() => setImmediate(() => out.passed.end())),
    stdout: out.passed,
    environment,
    printed: () => out.text(),
    firstLine: out.firstLine,
    said: () => err.text(),
  };
}

/** Run `tradewire` to its end, as {@link startCommand} starts it. */
export function run(args: readonly string[], options?: RunOptions): Promise<Outcome> {
  return startCommand(args, options).ended;
}

/** List the commands as `tradewire help --all` does. */
export async function listedCommands(): Promise<ReadonlyMap<string, string>> {
  const [commands = ""] = (await run(["help", "--all"])).out.split("\nExamples:\n");
  const [, ...groups] = (commands.split("\nOptions:\n")[1] ?? "").split(/\n\n.*:\n/);
  const terms = groups.flatMap((group) => [...group.matchAll(/^ {2}(\S+)(.*?)(?: {2}|$)/gm)]);
  const listed = terms.map(([, name = "", takes = ""]) => [name, takes.trim()] as const);
  return new Map(listed.filter(([name]) => name !== "help"));
}

/** List all commands and their subcommands by their declarations. */
export async function declaredCommands(): Promise<string[]> {
  const streams = { in: new PassThrough(), out: new PassThrough(), err: new PassThrough(), notes: new PassThrough() };
  const output = { role: "rows", isBegun: false, failure: undefined, fail: () => undefined } as const;
  const { signal } = new AbortController();
  const program = await createProgram(
    version,
    { ...streams, output, environment: {}, onConfig: () => undefined, signal },
    () => true,
  );
  const below = (command: typeof program, names: readonly string[]): string[] =>
    command.commands.flatMap((each) => {
      const full = [...names, each.name()];
      return [full.join(" "), ...below(each, full)];
    });
  return below(program, []);
}

/** A stream that keeps what is written to it, and passes it on, however slow the reader is. */
function captured() {
  const parts: Buffer[] = [];
  const passed = new PassThrough();
  const text = () => Buffer.concat(parts).toString();
  let found: (line: string) => void;
  const firstLine = new Promise<string>((resolve) => {
    found = resolve;
  });
  let hasLine = false;
  const stream = new Writable({
    write(part: Buffer, _, done) {
      parts.push(part);
      done();
      // As through a pipe, a reader has it after the writer has gone on.
      setImmediate(() => {
        passed.write(part);
        if (!hasLine && part.includes("\n")) {
          hasLine = true;
          found(text().slice(0, text().indexOf("\n")));
        }
      });
    },
  });
  return { stream, text, passed, firstLine };
}

/** The working directory that commands have entered, how many, and where they came from. */
let entered: { readonly folder: string; readonly from: string; count: number } | undefined;

/** Run a command in a working directory, which the process has but one of. */
async function inFolder(folder: string | undefined, command: () => Promise<number>): Promise<number> {
  if (folder === undefined) {
    return await command();
  }
  if (entered !== undefined && entered.folder !== folder) {
    throw new Error(`a command runs in ${entered.folder}: run that in ${folder} behind it, or give it absolute paths`);
  }
  entered ??= { folder, from: process.cwd(), count: 0 };
  entered.count += 1;
  process.chdir(folder);
  try {
    return await command();
  } finally {
    entered.count -= 1;
    if (entered.count === 0) {
      process.chdir(entered.from);
      entered = undefined;
    }
  }
}
