import { RequestError } from "../../errors/index.js";
import { queueStatus } from "../../sync/queue/index.js";
import type { PostgresSink } from "../../sync/sinks/postgres/postgres-sink.js";
import { startWatch, type Watch, type WatchOptions } from "../../sync/watch/start-watch.js";
import type { SyncState } from "../../sync/watch/state.js";
import type { WatchCommandOptions } from "./options.js";

/**
 * Serve how a sync goes, where that is asked for.
 *
 * @param options the values of the options
 * @param state how it goes
 * @param more the signal that ends it, and what counts the units of a queue
 * @returns the server; `undefined` where none is asked for
 */
export async function watching(
  { listen, listenName: names }: WatchCommandOptions,
  state: SyncState,
  more: Pick<WatchOptions, "signal" | "queue">,
): Promise<Watch | undefined> {
  if (listen === undefined) {
    if (names !== undefined) {
      throw new RequestError("--listen-name is for --listen", { advice: "Give --listen too, or leave it out." });
    }
    return undefined;
  }
  return await startWatch({ ...more, listen, names, state });
}

/**
 * Count the units of a queue by state.
 *
 * @param sink the sink beside which the queue is
 * @returns the counts; none where there is no queue yet
 */
export async function countsOf(sink: PostgresSink): Promise<Readonly<Record<string, number>>> {
  const status = await queueStatus(sink);
  return status === undefined
    ? {}
    : { waiting: status.waiting, backoff: status.backoff, active: status.underWay.length, dead: status.dead.length };
}
