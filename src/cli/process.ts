import { fileError } from "../errors/file-error.js";
import { FileError } from "../errors/index.js";
import { ENDING_SIGNALS, EXIT, errorText, Interruption, interruptedCode } from "./output.js";
import { runCommand } from "./program.js";

/** The error of standard output, which has no path. */
function standardOutputError(error: NodeJS.ErrnoException): FileError {
  const { summary, code } = fileError(error, "standard output");
  const advice = "Send the output elsewhere, or make room where it goes.";
  return new FileError(summary.replaceAll('"', ""), { code, advice, cause: error });
}

/**
 * Run the command `tradewire` in this process: its streams, environment, signals and exit code are those of the command.
 *
 * @param args the arguments behind the command's own name
 * @param version what `--version` prints
 */
export async function runProcess(args: readonly string[], version: string): Promise<void> {
  process.noDeprecation = true; // What packages deprecate is nothing for users of the command.
  const interrupt = new AbortController();
  const end = (signal: (typeof ENDING_SIGNALS)[number]) => {
    // A second signal of any kind ends the process at once.
    for (const each of ENDING_SIGNALS) {
      process.off(each, end);
    }
    interrupt.abort(new Interruption(signal));
  };
  for (const signal of ENDING_SIGNALS) {
    process.on(signal, end);
  }
  const { stdout: out, stderr: err, env: environment } = process;
  // The reader of a pipe, such as `head`, may close it early. The command then ends successfully.
  out.on("error", (error: NodeJS.ErrnoException) => {
    if (!interrupt.signal.aborted && error.code !== "EPIPE") {
      err.write(errorText(standardOutputError(error), { to: { err, environment } }));
      process.exit(EXIT.failure);
    }
    process.exit(interrupt.signal.aborted ? interruptedCode(interrupt.signal) : (process.exitCode ?? EXIT.ok));
  });
  // A terminal that was closed takes no notes. What is under way is still ended in order.
  err.on("error", () => undefined);
  process.exitCode = await runCommand({
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
  if (interrupt.signal.aborted) {
    // A reader that has stopped reading would keep what is left of the output, and with it the process.
    process.exit();
  }
}
