import type { Registry } from "@bufbuild/protobuf";
import { type Client, createClient } from "../client.js";
import type { Hooks } from "../transport/hooks.js";
import { type ClientOptions, clientConfig } from "./client-options.js";
import { printable } from "./output.js";

/** Takes text for standard error. */
export interface LineTaker {
  write(text: string): unknown;
}

/** Takes the reports of a client. */
export interface Reports {
  readonly notes: LineTaker;
}

/** What a client reports beside fallbacks: `waits`, also waits and retries; `calls`, also how each call ended. */
export type Reported = "fallbacks" | "waits" | "calls";

/** The least time between two reports of waits, in milliseconds: at a limit every call waits. */
const WAIT_REPORT_MS = 1000;

/**
 * Create a client from the command's options. It reports in a line when it falls back to another transport; with
 * `--verbose` also calls, retries and, one a second at most, waits.
 *
 * @param options the values of the command-line options
 * @param reports takes the reports, each a line
 * @param more `registry`: the types that an `Any` in JSON may hold, beside those of error details; `reported`: what is
 *   reported where there is no `--verbose`
 * @returns the client; the caller closes it
 * @throws {@link RequestError} if the configuration is wrong
 * @throws {@link FileError} if the configuration file or a file of the TLS configuration cannot be read
 */
export function commandClient(
  options: ClientOptions,
  { notes }: Reports,
  { registry, reported = "fallbacks" }: { readonly registry?: Registry; readonly reported?: Reported } = {},
): Client {
  const report = (text: string) => notes.write(`tradewire: ${printable(text)}\n`);
  const what = options.verbose === true ? "calls" : reported;
  return createClient(clientConfig(options), {
    ...(registry && { registry }),
    hooks: {
      onFallback: ({ from, to, error }) => report(`${from}: ${error.summary}; going on over ${to}`),
      ...(what !== "fallbacks" && reportsOfWaits(report)),
      ...(what === "calls" && reportsOfCalls(report)),
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

function reportsOfCalls(report: (text: string) => void): Hooks {
  return {
    onCallStart: ({ id, method, transport }) => report(`call ${id}: ${method} over ${transport}`),
    onCallEnd({ id }, { durationMs, messages, error }) {
      const how = error === undefined ? `${messages} ${messages === 1 ? "message" : "messages"}` : error.summary;
      report(`call ${id} ended after ${Math.round(durationMs)} ms: ${how}`);
    },
  };
}
