import type { HistorySegment } from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import { RequestError } from "../base/errors/index.js";
import { monotonicMs } from "../base/runtime/index.js";
import { throwIfAborted } from "../base/signal/wait.js";
import { checkHistory } from "../data/history/segment-chain.js";
import type { TableName } from "../data/schema/table-names.js";
import { fetchUnit } from "./fetch-unit.js";
import { type HistoryPlan, planned } from "./plan-history.js";
import { parseClients, parseSyncOptions, type SyncClient, type SyncOptions } from "./sync-options.js";
import { type MissingSegment, type Unit, unitsOf } from "./unit.js";

/** A number that is not known yet: it is expected between `low` and `high`. */
export interface Estimated {
  readonly low: number;
  readonly likely: number;
  readonly high: number;
}

/** How much the exports of a table, or of all, are expected to be. */
export interface Amounts {
  readonly rows: Estimated;
  /** Size of the CSV files in bytes. */
  readonly csvBytes: Estimated;
  /** Size of the archives in bytes, which is what the node sends. */
  readonly zipBytes: Estimated;
  /** How long the exports take, in seconds, as many at a time as a sync runs. */
  readonly seconds: Estimated;
}

/** The estimate of a table. */
export interface TableEstimate extends Amounts {
  readonly table: TableName;
  /** Number of exports. */
  readonly calls: number;
  /** Number of exports that were made for the estimate. */
  readonly sampled: number;
}

/** The estimate of some exports, and what it cost. */
export interface ExportsEstimate {
  readonly tables: readonly TableEstimate[];
  readonly total: Amounts & { readonly calls: number };
  /** What the estimate cost. */
  readonly cost: { readonly exports: number; readonly zipBytes: number; readonly seconds: number };
}

/** The plan of a sync, and how much it is expected to fetch. */
export interface SyncEstimate extends ExportsEstimate {
  readonly plan: HistoryPlan;
}

/**
 * Estimates how much {@link syncHistory} would fetch: rows, bytes and time, from a few exports of each table, spread over what is missing.
 * Nothing is changed in the sink.
 *
 * @param clients the node, or several nodes of one network
 * @param options the options of the sync; the sink is closed at the end
 * @returns the plan, the expected amounts by table, each with its range, and what the estimate cost
 * @throws `RequestError` if an option is wrong, or the sink holds another chain; errors of node and sink
 *
 * @example
 * const { total, cost } = await estimateSync(client, { sink });
 * console.log(total.csvBytes.low, total.csvBytes.high, cost.exports);
 */
export async function estimateSync(
  clients: SyncClient | readonly SyncClient[],
  options: SyncOptions,
): Promise<SyncEstimate> {
  const missing: MissingSegment[] = [];
  const plan = await planned(clients, options, (each) => missing.push(each));
  const { parallel, signal = new AbortController().signal } = parseSyncOptions(options);
  const units = unitsOf(plan.chainId, missing, 1);
  const calls = new Map(plan.tables.map((table) => [table.table, table.calls]));
  return { plan, ...(await estimateUnits(parseClients(clients), units, { parallel, signal, calls })) };
}

/** What is known of one export. */
interface Sample {
  /** Position among the exports of the table. */
  readonly index: number;
  readonly rows: number;
  readonly csvBytes: number;
  /** Size of the header row, which is a part of the CSV. */
  readonly headerBytes: number;
  readonly zipBytes: number;
  readonly seconds: number;
}

/** Number of exports of a table that are made for an estimate. */
const SAMPLES = 7;

/** The maximum number of parts of an export in parts. */
const MAX_PARTS = 500;

/**
 * Estimates the export of adjacent segments of a table into one archive.
 *
 * @throws {@link ProtocolError} if the node's segments break a rule; errors of the exports
 */
export async function estimateSegments(
  client: SyncClient,
  { table, segments: listed }: { readonly table: TableName; readonly segments: readonly HistorySegment[] },
  { parallel, signal }: { readonly parallel: number; readonly signal: AbortSignal },
): Promise<ExportsEstimate> {
  const { chainId, segments } = checkHistory(listed);
  const missing = segments.map((segment) => ({ table, segment }));
  const units = unitsOf(chainId, missing, 1);
  const joinedInto = parallel === 1 ? 1 : Math.min(units.length, MAX_PARTS);
  return await estimateUnits([client], units, { parallel, signal, joinedInto });
}

interface UnitsOptions {
  /** How many exports run at a time. */
  readonly parallel: number;
  readonly signal: AbortSignal;
  /** The number of exports that fetch all of them into one archive of a table. Otherwise they are loaded into a target. */
  readonly joinedInto?: number;
  /** The number of exports of each table that are loaded into a target; one for each segment by default. */
  readonly calls?: ReadonlyMap<TableName, number>;
}

/**
 * Estimates exports from a few of them, which are spread over the history: the first, the last, and some between. Each is checked as in
 * a sync.
 *
 * @param units the segments, those of a table in block order
 * @param options how many run at a time, the signal
 * @throws errors of the exports
 */
export async function estimateUnits(
  clients: readonly SyncClient[],
  units: readonly Unit[],
  { parallel, signal, joinedInto, calls: loads }: UnitsOptions,
): Promise<ExportsEstimate> {
  const startedAt = monotonicMs();
  const tables: TableEstimate[] = [];
  let zipBytes = 0;
  for (const table of new Set(units.map((unit) => unit.table))) {
    const all = units.filter((unit) => unit.table === table);
    const samples: Sample[] = [];
    for (const index of samplePlaces(all.length)) {
      throwIfAborted(signal);
      const unit = all[index];
      if (unit !== undefined) {
        samples.push({ index, ...(await measureAnywhere(clients, unit, signal)) });
      }
    }
    zipBytes += samples.reduce((sum, sample) => sum + sample.zipBytes, 0);
    const isJoined = joinedInto !== undefined;
    const calls = joinedInto ?? loads?.get(table) ?? all.length;
    const amounts = amountsOf(samples, all.length, { parallel, isJoined, calls });
    tables.push({ table, calls, sampled: samples.length, ...amounts });
  }
  const exports = tables.reduce((sum, { sampled }) => sum + sampled, 0);
  return {
    tables,
    total: { ...sumOf(tables), calls: tables.reduce((sum, { calls }) => sum + calls, 0) },
    cost: { exports, zipBytes, seconds: (monotonicMs() - startedAt) / 1000 },
  };
}

/** Returns the positions of the samples among a number of exports, ascending. */
function samplePlaces(count: number): number[] {
  const samples = Math.min(SAMPLES, count);
  const places = Array.from({ length: samples }, (_, at) => Math.round((at * (count - 1)) / Math.max(1, samples - 1)));
  return [...new Set(places)];
}

/** Measures a unit with the first node that has it. */
async function measureAnywhere(clients: readonly SyncClient[], unit: Unit, signal: AbortSignal) {
  for (const client of clients.slice(0, -1)) {
    try {
      return await measure(client, unit, signal);
    } catch {
      throwIfAborted(signal); // Another node may have it.
    }
  }
  const [last] = clients.slice(-1);
  if (last === undefined) {
    throw new RequestError("no node is set", { advice: "Pass at least one client." });
  }
  return await measure(last, unit, signal);
}

async function measure(client: SyncClient, unit: Unit, signal: AbortSignal): Promise<Omit<Sample, "index">> {
  const startedAt = monotonicMs();
  let zipBytes = 0;
  const measured: SyncClient = {
    name: client.name,
    listSegments: (options) => client.listSegments(options),
    exportNetworkHistory: (request, options) =>
      client.exportNetworkHistory(request, {
        ...options,
        onProgress({ bytes }) {
          zipBytes = bytes;
        },
      }),
  };
  const csv = await fetchUnit(measured, unit, { signal })();
  for await (const _ of csv.content) {
    // Reading counts.
  }
  const { rows, bytes } = csv.measures();
  const headerBytes = Buffer.byteLength(csv.columns.join()) + 1;
  const seconds = (monotonicMs() - startedAt) / 1000;
  return { rows: Number(rows), csvBytes: Number(bytes), headerBytes, zipBytes, seconds };
}

function amountsOf(
  samples: readonly Sample[],
  count: number,
  { parallel, isJoined, calls }: { readonly parallel: number; readonly isJoined: boolean; readonly calls: number },
): Amounts {
  const of = (read: (sample: Sample) => number) =>
    extrapolated(
      samples.map((sample) => ({ at: sample.index, value: read(sample) })),
      count,
    );
  const rows = whole(of((sample) => sample.rows));
  const header = samples[0]?.headerBytes ?? 0;
  const bodies = of((sample) => sample.csvBytes - sample.headerBytes);
  const headers = isJoined ? header : header * calls;
  const zip = of((sample) => sample.zipBytes);
  const seconds = of((sample) => sample.seconds);
  const load = isJoined ? 0 : calls;
  const joined = count > 1 && (isJoined || calls < count) ? JOINED : 1;
  return {
    rows: samples.length < count && rows.high === 0 ? { ...rows, high: count } : rows,
    csvBytes: whole({ low: bodies.low + headers, likely: bodies.likely + headers, high: bodies.high + headers }),
    zipBytes: whole({ ...zip, low: zip.low * joined }),
    // A loaded node or target is slower than single calls; a warm one is faster than the first of them.
    seconds: {
      low: (seconds.low * joined) / parallel / 2 + load * LOAD.low,
      likely: seconds.likely / parallel + load * LOAD.likely,
      high: seconds.high * 3 + load * LOAD.high,
    },
  };
}

/** How long a target takes for one export, in seconds: the commit of a transaction or a file. */
const LOAD: Estimated = { low: 0.008, likely: 0.05, high: 0.3 };

/** How much less one export may be than those of its segments: small segments have much in common, and each takes a call. */
const JOINED = 0.3;

/** The factor of the standard error that gives 95 % by Student's distribution, by the number of samples. */
const STUDENT = [0, 0, 12.71, 4.3, 3.18, 2.78, 2.57, 2.45];

/** The least part of what was not sampled by which it may differ. */
const LEAST = 0.05;

/**
 * Extrapolates the sum of values from a few of them. Between two samples a value is taken to lie on the line between them. The range
 * covers a history that is anywhere as its lower or its higher neighbor, and one whose values scatter as much as the samples do.
 */
function extrapolated(samples: readonly { readonly at: number; readonly value: number }[], count: number): Estimated {
  const known = samples.reduce((sum, { value }) => sum + value, 0);
  let [between, lower, higher] = [0, 0, 0];
  for (const [index, { at, value }] of samples.entries()) {
    const next = samples[index + 1];
    const gap = next === undefined ? 0 : next.at - at - 1;
    between += (gap * (value + (next?.value ?? 0))) / 2;
    lower += gap * Math.min(value, next?.value ?? value);
    higher += gap * Math.max(value, next?.value ?? value);
  }
  const size = samples.length;
  const mean = known / size;
  const squares = samples.reduce((sum, { value }) => sum + (value - mean) ** 2, 0);
  const deviation = size < 2 ? 0 : Math.sqrt(squares / (size - 1));
  const error = (STUDENT[size] ?? 0) * deviation * Math.sqrt((count * (count - size)) / Math.max(1, size));
  const least = LEAST * between;
  return {
    low: known + Math.max(0, Math.min(lower, between - error, between - least)),
    likely: known + between,
    high: known + Math.max(higher, between + error, between + least),
  };
}

function whole({ low, likely, high }: Estimated): Estimated {
  return { low: Math.floor(low), likely: Math.round(likely), high: Math.ceil(high) };
}

function sumOf(tables: readonly Amounts[]): Amounts {
  const sum = (name: keyof Amounts): Estimated => {
    const all = tables.map((table) => table[name]);
    const add = (of: keyof Estimated) => all.reduce((total, each) => total + each[of], 0);
    return { low: add("low"), likely: add("likely"), high: add("high") };
  };
  return { rows: sum("rows"), csvBytes: sum("csvBytes"), zipBytes: sum("zipBytes"), seconds: sum("seconds") };
}
