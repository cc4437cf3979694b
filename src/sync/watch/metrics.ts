import { monotonicMs } from "../../base/runtime/index.js";
import { atMost } from "../../base/signal/wait.js";
import { optionalPackage } from "../optional-package.js";
import { isReady, type LagReport, type SyncSnapshot } from "./sync-snapshot.js";

/** A sample: the value of the metric's label, if it has one, and the number. */
type Sample = readonly [label: string | undefined, value: number | bigint];

interface Metric {
  /** Without the prefix `tradewire_sync_`. Names that end in `_total` are counters. */
  readonly name: string;
  readonly help: string;
  readonly label?: string;
  readonly samples: (snapshot: SyncSnapshot) => readonly Sample[];
}

const perTable = (value: (table: SyncSnapshot["tables"][number]) => number | bigint | undefined) => {
  return ({ tables }: SyncSnapshot): Sample[] =>
    tables.flatMap((table) => {
      const found = value(table);
      return found === undefined ? [] : [[table.table, found] as const];
    });
};

const perNode = (value: (lag: LagReport) => number | undefined) => {
  return ({ nodes }: SyncSnapshot): Sample[] =>
    nodes.flatMap(({ name, lag }) => {
      const found = lag && value(lag);
      return found === undefined ? [] : [[name, found] as const];
    });
};

const one = (value: number | bigint | undefined): Sample[] => (value === undefined ? [] : [[undefined, value]]);

const METRICS: readonly Metric[] = [
  {
    name: "units_total",
    help: "Units loaded by this process. A unit is a table of one or more segments.",
    label: "table",
    samples: perTable(({ loaded }) => loaded.units),
  },
  {
    name: "rows_total",
    help: "Rows loaded by this process.",
    label: "table",
    samples: perTable(({ loaded }) => loaded.rows),
  },
  {
    name: "bytes_total",
    help: "Bytes of CSV loaded by this process.",
    label: "table",
    samples: perTable(({ loaded }) => loaded.bytes),
  },
  {
    name: "errors_total",
    help: "Errors by class and code, including those that a retry resolved.",
    label: "kind",
    samples: ({ errorCounts }) => Object.entries(errorCounts),
  },
  {
    name: "units_missing",
    help: "Segments of the node within the range that are missing in the sink.",
    label: "table",
    // What was missing in the last comparison still is; whether nothing is missing is not known while the sync waits.
    samples: (snapshot) =>
      perTable(({ missing }) => (missing === 0 && snapshot.waiting !== undefined ? undefined : missing))(snapshot),
  },
  {
    name: "gap_blocks",
    help: "Blocks that are missing in the sink and that no node has, so that they cannot be loaded.",
    label: "table",
    samples: perTable(({ gapBlocks }) => gapBlocks),
  },
  {
    name: "units_active",
    help: "Units that this process is fetching and loading, by node.",
    label: "node",
    samples: ({ nodes }) => nodes.map(({ name, underWay }) => [name, underWay]),
  },
  { name: "units_failed", help: "Units whose last attempt failed.", samples: ({ failed }) => one(failed) },
  {
    name: "segments",
    help: "Segments of the node within the range.",
    samples: ({ history }) => one(history?.segments),
  },
  { name: "node_block", help: "The node's last block within the range.", samples: (s) => one(s.history?.toBlock) },
  {
    name: "block",
    help: "The last block in the sink.",
    label: "table",
    samples: perTable(({ toBlock }) => toBlock),
  },
  {
    name: "lag_blocks",
    help: "The node's last block minus the last block of the table that lags most.",
    samples: ({ lag }) => one(lag?.blocks),
  },
  {
    name: "lag_seconds",
    help: "Time since this process first saw the oldest segment after that table's last block in the node's listing.",
    samples: ({ lag }) => one(lag?.seconds),
  },
  {
    name: "data_node_lag_seconds",
    help: "How much older the data node's last block was than its core's at the last check.",
    label: "node",
    samples: perNode((lag) => lag.behindCoreSeconds),
  },
  {
    name: "last_block_age_seconds",
    help: "Age of the core's last block at the last check, or of the data node's if the core's is unknown.",
    label: "node",
    samples: perNode((lag) => lag.behindClockSeconds),
  },
  {
    name: "queue_units",
    help: "Units in the queue by state.",
    label: "state",
    samples: ({ queue }) => Object.entries(queue ?? {}),
  },
  {
    name: "ready",
    help: "1 after the first plan, unless the process is waiting for the node or the sink.",
    samples: (snapshot) => one(isReady(snapshot) ? 1 : 0),
  },
  {
    name: "silent_seconds",
    help: "Time without progress while there is work.",
    samples: ({ silentSeconds }) => one(silentSeconds),
  },
];

const importMetrics = optionalPackage(() => import("prom-client"), "serving metrics", "prom-client");

/**
 * Loads the package that writes metrics. It is an optional peer.
 *
 * @throws `RequestError` if the package is not installed
 */
export async function loadMetrics(): Promise<(snapshot: SyncSnapshot) => Promise<string>> {
  const { Counter, Gauge, Registry } = (await importMetrics()).default;
  return async (snapshot) => {
    const registry = new Registry(); // A registry for this snapshot only, so that absent values are not written as 0.
    for (const { name, help, label, samples } of METRICS) {
      const found = samples(snapshot);
      if (found.length > 0) {
        const labelNames = label === undefined ? [] : [label];
        const config = { name: `tradewire_sync_${name}`, help, labelNames, registers: [registry] };
        const metric = name.endsWith("_total") ? new Counter(config) : new Gauge(config);
        for (const [value, number] of found) {
          metric.inc(label === undefined ? {} : { [label]: value ?? "" }, Number(number));
        }
      }
    }
    return await registry.metrics();
  };
}

/** The content type of Prometheus' text format. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Counts the units of a queue by state. */
export type QueueCounts = () => Readonly<Record<string, number>> | Promise<Readonly<Record<string, number>>>;

/** How long counts are cached. */
const QUEUE_CACHE_MS = 5000;
/** How long counts are awaited before the previous ones are used. */
const WAIT_MS = 2000;
/** Maximum number of states that are shown. */
const MAX_STATES = 50;

/** Caches the counts of a queue for five seconds. */
export function createQueueCounts(
  queue: QueueCounts | undefined,
): () => Promise<Readonly<Record<string, number>> | undefined> {
  let last: Readonly<Record<string, number>> | undefined;
  let asking: Promise<void> | undefined;
  let asked = Number.NEGATIVE_INFINITY;
  const ask = async (count: QueueCounts) => {
    try {
      const numbers = Object.entries(await count()).filter(([, number]) => Number.isFinite(number));
      last = Object.fromEntries(numbers.slice(0, MAX_STATES));
    } catch {
      last = undefined;
    }
    asking = undefined;
  };
  return async () => {
    if (queue !== undefined && asking === undefined && monotonicMs() - asked > QUEUE_CACHE_MS) {
      asked = monotonicMs();
      asking = ask(queue);
    }
    if (asking !== undefined) {
      await atMost(asking, WAIT_MS);
    }
    return last;
  };
}
