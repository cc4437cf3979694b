import { Code } from "@connectrpc/connect";
import { SinkError } from "../../errors/index.js";
import { requireGoing } from "../../signal/wait.js";
import { clientsOf } from "../check-options.js";
import type { FailedUnit, SyncClient, SyncSummary } from "../options.js";
import { requireSameChain } from "../parting.js";
import { teller } from "../tell.js";
import { withSink } from "../with-sink.js";
import { type Database, openDatabase, placeOf } from "./database.js";
import type { DeadLetter } from "./dead-letter.js";
import { install } from "./install.js";
import { takeLead } from "./leader.js";
import { enterNodes } from "./node-state.js";
import { type CheckedQueueOptions, checkQueueOptions, type QueueOptions } from "./options.js";
import { planAsLeader } from "./plan-as-leader.js";
import { nodeNames } from "./polite.js";

/**
 * Put what is missing in a sink into a queue beside it, for workers to load. Of several planners one leads, so that all
 * is planned once; the others wait, and one of them goes on where the leader ends, however it does.
 *
 * A unit that fails as often as it may is kept as a dead letter; the others go on. Where the histories of sink and node
 * part, what waits in the queue is removed, and nothing is changed.
 *
 * @param clients the node, or several nodes of one network. Planners and workers must call a node by the same name
 * @param options the sink, which is opened, and closed at the end; the tables, the range, and how
 * @returns how the tables stand once nothing is missing, waiting or under way but dead letters; these are `failed`. With
 *   `follow` it goes on until it throws
 * @throws `PartingError` where the histories part, or the node's becomes another one while it is followed
 * @throws `RequestError` where an option is wrong, or the sink holds another chain
 * @throws {@link SinkError} where the database cannot be used; errors of the node where it cannot be asked for too long
 * @throws `CanceledError` where the signal was aborted. What waits in the queue stays, and workers go on with it
 *
 * @example
 * const { failed } = await queueSync(client, { sink: postgresSink("postgres://me@db.example/history") });
 */
export function queueSync(clients: SyncClient | readonly SyncClient[], options: QueueOptions): Promise<SyncSummary> {
  const sink = options?.sink;
  return withSink(sink, async () => {
    const checked = checkQueueOptions(options);
    const all = clientsOf(clients);
    const signal = checked.signal ?? new AbortController().signal;
    requireGoing(signal);
    await using db = await openDatabase(placeOf(sink));
    return await plan(db, all, sink, { ...checked, signal });
  });
}

async function plan(
  db: Database,
  clients: readonly SyncClient[],
  sink: QueueOptions["sink"],
  options: CheckedQueueOptions & { readonly signal: AbortSignal },
): Promise<SyncSummary> {
  const { pace, patienceMs, signal } = options;
  const tell = teller(options.hooks);
  let opened: string | undefined;

  /** The sink is opened by the first lead. Its tables are then there, and it holds one chain. */
  async function open(chainId: string): Promise<void> {
    if (opened !== undefined) {
      requireSameChain(sink.name, opened, chainId);
      return;
    }
    const { tables, unknownColumns } = options;
    const onUnknown: Parameters<typeof sink.open>[0]["onUnknown"] = (unknown) => tell({ case: "unknown", unknown });
    await sink.open({ chainId, tables, unknownColumns, onUnknown, signal });
    opened = chainId;
  }

  let installed = false;
  for (;;) {
    await using lead = await takeLead(db, { pace, patienceMs, tell, signal });
    try {
      if (!installed) {
        await install(db);
        await enterNodes(db, nodeNames(clients));
        installed = true;
      }
      await lead.say();
      const { dead, ...summary } = await planAsLeader({ db, clients, sink, open, tell, options, lead });
      return { ...summary, failed: dead.map(failedUnit) };
    } catch (reason) {
      requireGoing(signal);
      // What failed behind the loss of the lead may have failed for it.
      if (await lead.isHeld()) {
        throw reason;
      }
    }
  }
}

function failedUnit({ unit, error, advice, code, tries }: DeadLetter): FailedUnit {
  const known = Code[code] === undefined ? Code.Unknown : code;
  const summary = `${error} (tried ${tries} times by workers)`;
  return { unit, error: new SinkError(summary, { code: known, advice }) };
}
