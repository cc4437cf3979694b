import { streamError } from "../errors/node-errors.js";
import { startTimer } from "../runtime/index.js";
import { ENDING_SIGNALS, EXIT, errorText, Interruption, interruptedCode } from "./output.js";
import { runCommand } from "./program.js";

/** How long a command may clean up after its output cannot be written, in milliseconds. */
const CLEANUP_MS = 5000;

/**
 * Ends the command like a signal does, with cleanup, when standard output cannot be written.
 *
 * @param interrupt interrupts the command
 * @returns a function that turns the exit code of the command into that of the process; call it when the command has ended
 */
function endOnOutputError(interrupt: AbortController): (code: number) => number {
  const { stdout: out, stderr: err, env: environment } = process;
  let outputCode: number | undefined;
  let hasEnded = false;
  out.on("error", (error: NodeJS.ErrnoException) => {
    const { signal } = interrupt;
    if (!signal.aborted) {
      // The reader of a pipe, such as `head`, may close it early. The command then ends successfully.
      outputCode = error.code === "EPIPE" ? EXIT.ok : EXIT.failure;
      if (outputCode === EXIT.failure) {
        const failure = streamError(error, "standard output", "Redirect the output elsewhere, or free some space.");
        err.write(errorText(failure, { to: { err, environment } }));
      }
    }
    if (hasEnded) {
      process.exitCode = outputCode === EXIT.failure ? outputCode : process.exitCode;
      process.exit(); // With an argument, even `undefined`, it would forget the exit code.
    }
    const code = outputCode ?? interruptedCode(signal);
    startTimer(() => process.exit(code), CLEANUP_MS, { ref: false });
    interrupt.abort(new DOMException("cannot write to standard output", "AbortError"));
  });
  return (code) => {
    hasEnded = true;
    const isTruncated = code === EXIT.ok || code === interruptedCode(interrupt.signal);
    return isTruncated ? (outputCode ?? code) : code;
  };
}

/**
 * Runs the command `tradewire` in this process: its streams, environment, signals and exit code are those of the command.
 *
 * @param args the arguments, without the name of the command
 * @param version what `--version` prints
 */
export async function runProcess(args: readonly string[], version: string): Promise<void> {
  process.noDeprecation = true; // Users of the command cannot act on deprecations in packages.
  const interrupt = new AbortController();
  let isInterrupted = false;
  const end = (signal: (typeof ENDING_SIGNALS)[number]) => {
    if (!isInterrupted) {
      isInterrupted = true;
      interrupt.abort(new Interruption(signal));
      return;
    }
    // A second signal of any kind ends the process at once. The listeners stay until it arrives, because Node drops a signal
    // that it has received and not reported yet when its listener is removed.
    for (const each of ENDING_SIGNALS) {
      process.off(each, end);
    }
    process.kill(process.pid, signal);
  };
  for (const signal of ENDING_SIGNALS) {
    process.on(signal, end);
  }
  const { stdout: out, stderr: err, env: environment } = process;
  const exitCode = endOnOutputError(interrupt);
  // Notes to a closed terminal fail, and the command still cleans up.
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
    // A reader that has stopped reading would keep the rest of the output, and with it the process, waiting.
    process.exit();
  }
}
