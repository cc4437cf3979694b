import type { Registry } from "@bufbuild/protobuf";
import { monotonicMs } from "../base/runtime/index.js";
import { type Client, type Config, createClient } from "../index.js";
import type { FallbackInfo, Hooks } from "../wire/transport/index.js";
import { type ClientOptions, clientConfig } from "./client-options.js";
import { printable, type Streams } from "./output.js";

/** Writes text to standard error. */
export interface LineWriter {
  write(text: string): unknown;
}

/** The receivers of a client's reports and configuration, and the environment variables of the configuration. */
export interface Reports extends Pick<Streams, "environment" | "onConfig"> {
  readonly notes: LineWriter;
}

/** Returns the receivers of a client's reports with other notes. A copy of the whole context would open standard input. */
export function reportsTo(notes: LineWriter, { environment, onConfig }: Omit<Reports, "notes">): Reports {
  return { notes, environment, onConfig };
}

/**
 * The reports of a client: only fallbacks, also waits and retries (`waits`), or also the result of each call (`calls`).
 */
export type ReportLevel = "fallbacks" | "waits" | "calls";

/** The minimum time between two reports of waits, in milliseconds. At a limit, every call waits. */
const WAIT_REPORT_MS = 1000;

/**
 * Creates a client from the command's options. It reports each fallback to another transport on a line; with `--verbose`, also
 * calls, retries and, at most one a second, waits.
 *
 * @throws {@link RequestError} if the configuration is invalid
 * @throws {@link FileError} if the configuration file or a file of the TLS configuration cannot be read
 */
export function commandClient(
  options: ClientOptions,
  { notes, environment, onConfig }: Reports,
  {
    registry,
    reported = "fallbacks",
    config = clientConfig(options, { environment, onConfig }),
  }: { readonly registry?: Registry; readonly reported?: ReportLevel; readonly config?: Config } = {},
): Client {
  const report = (text: string) => notes.write(`tradewire: ${printable(text)}\n`);
  const level = options.verbose === true ? "calls" : reported;
  return createClient(config, {
    ...(registry && { registry }),
    hooks: {
      onNodeChange: ({ name, refusal }) =>
        report(refusal === undefined ? `${name} is used again` : `${name} is skipped: ${refusal}`),
      ...(level === "calls" ? callReports(report) : fallbackReports(report)),
      ...(level !== "fallbacks" && waitReports(report)),
    },
  });
}

/** Reports a fallback when the other transport responds. If none responds, the error names all transports. */
function fallbackReports(report: (text: string) => void): Hooks {
  const pending = new Map<number, string>();
  const reportOnce = (id: number) => {
    const text = pending.get(id);
    if (text !== undefined && pending.delete(id)) {
      report(text);
    }
  };
  return {
    onFallback: ({ id, ...fallback }) => pending.set(id, fallbackText(fallback)),
    onBytes: ({ id }) => reportOnce(id),
    onCallEnd({ id }, { error }) {
      if (error === undefined) {
        reportOnce(id);
      }
      pending.delete(id);
    },
  };
}

function fallbackText({ from, to, error }: Omit<FallbackInfo, "id">): string {
  return `${from}: ${error.summary}; falling back to ${to}`;
}

function waitReports(report: (text: string) => void): Hooks {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return {
    onWait({ method, waitMs, reason }) {
      if (monotonicMs() - reportedAt >= WAIT_REPORT_MS) {
        reportedAt = monotonicMs();
        report(`${method} waits ${Math.ceil(waitMs)} ms: ${reason}`);
      }
    },
    onRetry: ({ method, attempt, delayMs, error }) =>
      report(`${method}: ${error.summary}; attempt ${attempt + 1} in ${Math.ceil(delayMs)} ms`),
  };
}

function callReports(report: (text: string) => void): Hooks {
  return {
    onFallback: (fallback) => report(fallbackText(fallback)),
    onCallStart: ({ id, method, transport }) => report(`call ${id}: ${method} over ${transport}`),
    onCallEnd({ id }, { durationMs, messages, error }) {
      const how = error === undefined ? `${messages} ${messages === 1 ? "message" : "messages"}` : error.summary;
      report(`call ${id} ended after ${Math.round(durationMs)} ms: ${how}`);
    },
  };
}
