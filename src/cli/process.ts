import { fileError } from "../errors/file-error.js";
import { FileError } from "../errors/index.js";
import { startTimer } from "../runtime/index.js";
import { ENDING_SIGNALS, EXIT, errorText, Interruption, interruptedCode } from "./output.js";
import { runCommand } from "./program.js";

/** The error of standard output, which has no path. */
function standardOutputError(error: NodeJS.ErrnoException): FileError {
  const { summary, code } = fileError(error, "standard output");
  const advice = "Send the output elsewhere, or make room where it goes.";
  return new FileError(summary.replaceAll('"', ""), { code, advice, cause: error });
}

/** How long a command may clean up, in milliseconds, once its output cannot be written. */
const CLEANUP_MS = 5000;

/**
 * Have the command end once standard output cannot be written, in the way that a signal ends it: it removes what it began.
 *
 * @param interrupt interrupts the command
 * @returns a function to be called when the command has ended, which turns its exit code into that of the process
 */
function endWithOutput(interrupt: AbortController): (code: number) => number {
  const { stdout: out, stderr: err, env: environment } = process;
  let ofOutput: number | undefined;
  let isOver = false;
  out.on("error", (error: NodeJS.ErrnoException) => {
    const { signal } = interrupt;
    if (!signal.aborted) {
      // The reader of a pipe, such as `head`, may close it early. The command then ends successfully.
      ofOutput = error.code === "EPIPE" ? EXIT.ok : EXIT.failure;
      if (ofOutput === EXIT.failure) {
        err.write(errorText(standardOutputError(error), { to: { err, environment } }));
      }
    }
    if (isOver) {
      process.exitCode = ofOutput === EXIT.failure ? ofOutput : process.exitCode;
      process.exit(); // With an argument, even `undefined`, it would forget the exit code.
    }
    const code = ofOutput ?? interruptedCode(signal);
    startTimer(() => process.exit(code), CLEANUP_MS, { ref: false });
    interrupt.abort(new DOMException("standard output cannot be written", "AbortError"));
  });
  return (code) => {
    isOver = true;
    const isCutShort = code === EXIT.ok || code === interruptedCode(interrupt.signal);
    return isCutShort ? (ofOutput ?? code) : code;
  };
}

/**
 * Run the command `tradewire` in this process: its streams, environment, signals and exit code are those of the command.
 *
 * @param args the arguments, without the name of the command
 * @param version what `--version` prints
 */
export async function runProcess(args: readonly string[], version: string): Promise<void> {
  process.noDeprecation = true; // What packages deprecate is nothing for users of the command.
  const interrupt = new AbortController();
  let isInterrupted = false;
  const end = (signal: (typeof ENDING_SIGNALS)[number]) => {
    if (!isInterrupted) {
      isInterrupted = true;
      interrupt.abort(new Interruption(signal));
      return;
    }
    // A second signal of any kind ends the process at once. The listeners stay until it comes: Node drops a signal that
    // arrived, and was not reported yet, when its listener is removed.
    for (const each of ENDING_SIGNALS) {
      process.off(each, end);
    }
    process.kill(process.pid, signal);
  };
  for (const signal of ENDING_SIGNALS) {
    process.on(signal, end);
  }
  const { stdout: out, stderr: err, env: environment } = process;
  const exitCode = endWithOutput(interrupt);
  // A terminal that was closed takes no notes. What is under way is still ended in order.
  err.on("error", () => undefined);
  const code = await runCommand({
    args,
    version,
    get in() {
      return process.stdin;
    },
    out,
    err,
    environment,
    signal: interrupt.signal,
  });
  process.exitCode = exitCode(code);
  if (interrupt.signal.aborted) {
    // A reader that has stopped reading would keep what is left of the output, and with it the process.
    process.exit();
  }
}
