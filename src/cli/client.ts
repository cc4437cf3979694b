import type { Registry } from "@bufbuild/protobuf";
import { type Client, createClient } from "../client.js";
import type { Hooks } from "../transport/hooks.js";
import { type ClientOptions, clientConfig } from "./client-options.js";
import { printable } from "./output.js";

/** Takes text for standard error. */
export interface LineTaker {
  write(text: string): unknown;
}

/** The least time between two reports of waits, in milliseconds: at a limit every call waits. */
const WAIT_REPORT_MS = 1000;

/**
 * Create a client from the command's options. When it falls back to another transport, it reports that in one line;
 * with `--verbose` also waits, one a second at most, and retries.
 *
 * @param options the values of the command-line options
 * @param streams `err` takes the reports, each a line
 * @param registry the types that an `Any` in JSON may hold, beside those of error details
 * @returns the client; the caller closes it
 * @throws {@link RequestError} if the configuration is wrong
 * @throws {@link FileError} if the configuration file or a file of the TLS configuration cannot be read
 */
export function commandClient(
  options: ClientOptions,
  { err }: { readonly err: LineTaker },
  registry?: Registry,
): Client {
  const report = (text: string) => err.write(`tradewire: ${printable(text)}\n`);
  return createClient(clientConfig(options), {
    registry,
    hooks: {
      onFallback: ({ from, to, error }) => report(`${from}: ${error.summary}; going on over ${to}`),
      ...(options.verbose === true && reportsOfWaits(report)),
    },
  });
}

function reportsOfWaits(report: (text: string) => void): Hooks {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return {
    onWait({ method, waitMs, reason }) {
      if (performance.now() - reportedAt >= WAIT_REPORT_MS) {
        reportedAt = performance.now();
        report(`${method} waits ${Math.ceil(waitMs)} ms: ${reason}`);
      }
    },
    onRetry: ({ method, attempt, delayMs, error }) =>
      report(`${method}: ${error.summary}; try ${attempt + 1} in ${Math.ceil(delayMs)} ms`),
  };
}
