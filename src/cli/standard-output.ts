import { fstatSync, writeSync } from "node:fs";
import { Writable } from "node:stream";
import { isatty } from "node:tty";
import { errorCodes, streamError } from "../base/errors/node-errors.js";
import { type CommandOutput, EXIT, errorText, type OutputRole, type Streams } from "./output.js";

/** The file descriptor of standard output. */
const STDOUT = 1;

/**
 * Opens standard output. A file is written by counting: Node's own stream reports success if a disk that is almost full takes
 * only a part. Pipes, sockets and terminals are left to Node, which counts there.
 */
export function openStandardOutput(): Streams["out"] {
  // With numbers, Node would keep that it saw a pipe, and then not follow the links of packages that it loads.
  const stats = fstatSync(STDOUT, { bigint: true });
  return stats.isFIFO() || stats.isSocket() || isatty(STDOUT) ? process.stdout : new FileOutput();
}

/** Writes to a file synchronously, like Node does, so that an exit of the process loses nothing. */
class FileOutput extends Writable {
  override _write(part: Uint8Array, _: unknown, done: (reason?: Error) => void): void {
    try {
      for (let taken = 0; taken < part.length; ) {
        taken += writeSync(STDOUT, part, taken);
      }
      done();
    } catch (reason) {
      done(reason instanceof Error ? reason : new Error(String(reason)));
    }
  }
}

/**
 * Watches the standard output of a command. The first failure is reported on standard error, unless rows are printed and
 * their reader has gone, as `head` does.
 */
export function watchOutput({ out, err, environment }: Pick<Streams, "out" | "err" | "environment">): CommandOutput {
  let failure: Error | undefined;
  const output: CommandOutput = {
    role: "rows",
    isBegun: false,
    get failure() {
      return failure;
    },
    fail(reason) {
      if (failure !== undefined) {
        return;
      }
      failure = reason;
      if (output.role !== "rows" || !isReaderGone(reason)) {
        const error = streamError(reason, "standard output", ADVICE[output.role]);
        err.write(errorText(error, { to: { err, environment } }));
      }
    },
  };
  out.on("error", output.fail);
  return output;
}

const ADVICE: Readonly<Record<OutputRole, string>> = {
  rows: "Redirect the output elsewhere, or free some space.",
  answer: "The command continues, and its exit code stays the same.",
  response: "The call may have been executed. Find out before you repeat it.",
};

/** Returns whether a write failed because the reader of a pipe or of a socket has closed it. */
function isReaderGone(reason: Error): boolean {
  return errorCodes(reason).some((code) => code === "EPIPE" || code === "ECONNRESET");
}

/**
 * Decides on the exit code of a command, given the state of its output. Only success depends on it: an error, an answer and
 * an interruption keep their code.
 */
export function finalExitCode(code: number, { role, failure }: Pick<CommandOutput, "role" | "failure">): number {
  if (code !== EXIT.ok || failure === undefined) {
    return code;
  }
  switch (role) {
    case "rows":
      return isReaderGone(failure) ? EXIT.ok : EXIT.failure;
    case "answer":
      return code;
    case "response":
      return EXIT.unknown;
  }
}
