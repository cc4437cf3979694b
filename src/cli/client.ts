import type { Registry } from "@bufbuild/protobuf";
import { type Client, createClient } from "../client/index.js";
import type { Config } from "../config/schema.js";
import { monotonicMs } from "../runtime/index.js";
import type { FallbackInfo, Hooks } from "../transport/hooks.js";
import { type ClientOptions, clientConfig } from "./client-options.js";
import { printable, type Streams } from "./output.js";

/** Takes text for standard error. */
export interface LineTaker {
  write(text: string): unknown;
}

/** Takes the reports of a client, and has the environment variables of its configuration. */
export interface Reports extends Pick<Streams, "environment"> {
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
 * @param reports takes the reports, each a line; with the environment variables
 * @param more `registry`: the types that an `Any` in JSON may hold, beside those of error details; `reported`: what is
 *   reported where there is no `--verbose`; `config`: the configuration, if it was loaded before
 * @returns the client; the caller closes it
 * @throws {@link RequestError} if the configuration is wrong
 * @throws {@link FileError} if the configuration file or a file of the TLS configuration cannot be read
 */
export function commandClient(
  options: ClientOptions,
  { notes, environment }: Reports,
  {
    registry,
    reported = "fallbacks",
    config = clientConfig(options, { environment }),
  }: { readonly registry?: Registry; readonly reported?: Reported; readonly config?: Config } = {},
): Client {
  const report = (text: string) => notes.write(`tradewire: ${printable(text)}\n`);
  const what = options.verbose === true ? "calls" : reported;
  return createClient(config, {
    ...(registry && { registry }),
    hooks: {
      ...(what === "calls" ? reportsOfCalls(report) : reportsOfFallbacks(report)),
      ...(what !== "fallbacks" && reportsOfWaits(report)),
    },
  });
}

/** A fallback is reported once something has come over the other transport: where none answers, the error names all. */
function reportsOfFallbacks(report: (text: string) => void): Hooks {
  const waiting = new Map<number, string>();
  const tell = (id: number) => {
    const text = waiting.get(id);
    if (text !== undefined && waiting.delete(id)) {
      report(text);
    }
  };
  return {
    onFallback: ({ id, ...fallback }) => waiting.set(id, fallbackText(fallback)),
    onBytes: ({ id }) => tell(id),
    onCallEnd({ id }, { error }) {
      if (error === undefined) {
        tell(id);
      }
      waiting.delete(id);
    },
  };
}

function fallbackText({ from, to, error }: Omit<FallbackInfo, "id">): string {
  return `${from}: ${error.summary}; going on over ${to}`;
}

function reportsOfWaits(report: (text: string) => void): Hooks {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return {
    onWait({ method, waitMs, reason }) {
      if (monotonicMs() - reportedAt >= WAIT_REPORT_MS) {
        reportedAt = monotonicMs();
        report(`${method} waits ${Math.ceil(waitMs)} ms: ${reason}`);
      }
    },
    onRetry: ({ method, attempt, delayMs, error }) =>
      report(`${method}: ${error.summary}; try ${attempt + 1} in ${Math.ceil(delayMs)} ms`),
  };
}

function reportsOfCalls(report: (text: string) => void): Hooks {
  return {
    onFallback: (fallback) => report(fallbackText(fallback)),
    onCallStart: ({ id, method, transport }) => report(`call ${id}: ${method} over ${transport}`),
    onCallEnd({ id }, { durationMs, messages, error }) {
      const how = error === undefined ? `${messages} ${messages === 1 ? "message" : "messages"}` : error.summary;
      report(`call ${id} ended after ${Math.round(durationMs)} ms: ${how}`);
    },
  };
}
