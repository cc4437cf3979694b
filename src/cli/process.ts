import { yieldToEventLoop } from "../base/runtime/index.js";
import { ENDING_SIGNALS, EXIT, Interruption, interruptedCode } from "./output.js";
import { runProgram } from "./program.js";
import { finalExitCode, openStandardOutput, watchOutput } from "./standard-output.js";

/**
 * Runs the command `tradewire` in this process: its streams, environment, signals and exit code are those of the command.
 */
export async function runProcess(args: readonly string[], version: string): Promise<void> {
  process.noDeprecation = true; // Users of the command cannot act on deprecations in packages.
  const interrupt = new AbortController();
  const { signal } = interrupt;
  const { stderr: err, env: environment } = process;
  const out = openStandardOutput();
  const output = watchOutput({ out, err, environment });
  /** The exit code of the command, once it has ended. The reader may not have taken all of its output yet. */
  let ended: number | undefined;
  const settle = () => {
    process.exitCode = ended === undefined ? undefined : finalExitCode(ended, output);
  };
  const end = (by: (typeof ENDING_SIGNALS)[number]) => {
    if (!signal.aborted) {
      interrupt.abort(new Interruption(by));
      if (ended !== undefined) {
        // The rest of the output is lost. An answer stays what it is.
        ended = ended === EXIT.ok && output.role === "rows" ? interruptedCode(signal) : ended;
        settle();
        process.exit();
      }
      return;
    }
    // A second signal of any kind ends the process at once. The listeners stay until it arrives, because Node drops a signal
    // that it has received and not reported yet when its listener is removed.
    for (const each of ENDING_SIGNALS) {
      process.off(each, end);
    }
    process.kill(process.pid, by);
  };
  for (const each of ENDING_SIGNALS) {
    process.on(each, end);
  }
  // Notes to a closed terminal fail, and the command still cleans up.
  err.on("error", () => undefined);
  ended = await runProgram(
    {
      args,
      version,
      get in() {
        return process.stdin;
      },
      out,
      err,
      environment,
      signal,
    },
    output,
  );
  settle();
  out.on("error", settle);
  if (signal.aborted || output.failure !== undefined) {
    await yieldToEventLoop(); // A write that has just failed reports it in a later turn of the event loop.
    // A reader that has stopped reading would keep the rest of the output, and with it the process, waiting.
    process.exit(); // With an argument, even `undefined`, it would forget the exit code.
  }
}
