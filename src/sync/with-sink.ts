import { RequestError } from "../errors/index.js";
import type { Sink } from "./sink.js";

const METHODS = [
  "open",
  "inspect",
  "entries",
  "load",
  "remove",
  "countRows",
  "compareRows",
  Symbol.asyncDispose,
] as const;

/**
 * Use a sink, and close it whatever happens. A failure to close it does not hide an earlier one.
 *
 * @param sink the sink
 * @param use uses it
 * @returns what `use` returns
 * @throws {@link RequestError} where it is no sink; what `use` throws
 */
export async function withSink<T>(sink: Sink, use: () => Promise<T>): Promise<T> {
  requireSink(sink);
  let result: T;
  try {
    result = await use();
  } catch (reason) {
    await closed(sink).catch(() => undefined);
    throw reason;
  }
  await closed(sink);
  return result;
}

async function closed(sink: Sink): Promise<void> {
  await sink[Symbol.asyncDispose]();
}

function requireSink(sink: Sink | undefined): void {
  const lacking = METHODS.find((method) => typeof sink?.[method] !== "function");
  if (lacking !== undefined || typeof sink?.name !== "string") {
    const what =
      lacking === undefined ? "name" : typeof lacking === "string" ? `method ${lacking}` : "[Symbol.asyncDispose]";
    throw new RequestError(
      typeof sink === "object" && sink !== null ? `the sink has no ${what}` : `the sink is ${String(sink)}`,
      { advice: "Give a sink such as duckdbSink(path), or one of your own that has all of the interface Sink." },
    );
  }
}
