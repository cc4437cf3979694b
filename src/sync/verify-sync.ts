import { max } from "../base/bigints.js";
import { Code } from "../base/errors/code.js";
import { RequestError, SinkError } from "../base/errors/index.js";
import { isTransient } from "../base/errors/reaction.js";
import { assertFunction, assertKnownKeys, assertOneOf, parseSignal } from "../base/input/assert.js";
import { snapshot } from "../base/input/snapshot.js";
import { withJson } from "../base/json-result.js";
import { backoffMs, retry, throwIfAborted } from "../base/signal/wait.js";
import type { BlockRange } from "../data/history/segments.js";
import { type TableName, tableNames } from "../data/schema/table-names.js";
import { askedTables, divergenceAt, type EntryRelation, fillGaps, matchLedger, oldestGaps } from "./coverage.js";
import { assertSameChain } from "./divergence.js";
import { fetchUnit } from "./fetch-unit.js";
import { type MergedHistory, readHistory } from "./node-history.js";
import { readLedger } from "./plan-history.js";
import { type Divergence, type Sink, type TableRange, type UnitCsv, withSink } from "./sink.js";
import {
  parseBlockRange,
  parseClients,
  parseTables,
  type SyncClient,
  type SyncOptions,
  type Verified,
} from "./sync-options.js";
import type { LedgerEntry } from "./unit.js";

/** Maximum number of units that do not match, and of ranges, that are listed. */
const MAX_LISTED = 1000;
/** Maximum number of attempts to fetch a unit. */
const ATTEMPTS = 5;

const OPTIONS = { clients: true, deep: true, tables: true, range: true, signal: true, onVerified: true } as const;

/** Options of a verification. */
export interface VerifyOptions {
  /** The node, or several of one network: required with `deep`, otherwise used to find missing segments and divergence. */
  readonly clients?: SyncClient | readonly SyncClient[] | undefined;
  /** Whether each unit is fetched again and compared, value by value; false by default. */
  readonly deep?: boolean | undefined;
  /** By default, those that syncs into the sink were asked for. */
  readonly tables?: readonly TableName[] | undefined;
  /** Units that overlap it are verified; all by default. */
  readonly range?: SyncOptions["range"];
  readonly signal?: AbortSignal | undefined;
  /** Called for each unit. An error of it ends the verification. */
  readonly onVerified?: ((verified: Verified) => void) | undefined;
}

/** The result of a verification. */
export interface Verification {
  /** The chain that the sink holds; absent if it is empty. */
  readonly chainId?: string;
  /** Number of units that were verified, and their rows in the tables. */
  readonly units: number;
  readonly rows: bigint;
  /** Units that were fetched again, including those whose last segments alone are on the nodes. */
  readonly compared: number;
  /**
   * With `deep`: blocks whose rows were counted but not compared, because no node that answers has them: all of a unit, or
   * its beginning. Adjacent ones are one range; the first 1000.
   */
  readonly uncompared?: readonly TableRange[];
  /** Number of units that differ from the ledger or from the node. */
  readonly unsound: number;
  /** The first of them, at most 1000. */
  readonly listed: readonly Verified[];
  /**
   * Blocks of the range that the tables were asked for, and that no unit covers: up to the last unit or, with clients, those
   * that no node has. At most 1000, the oldest first.
   */
  readonly gaps: readonly TableRange[];
  /** With clients: number of missing segments of all tables. */
  readonly missing?: bigint;
  /** With clients: where the histories diverge. */
  readonly divergence?: Divergence;
}

/** The validated options, and what the units are compared with. */
interface VerifyContext {
  readonly sink: Sink;
  readonly clients: readonly SyncClient[];
  readonly deep: boolean;
  readonly range: BlockRange;
  readonly signal: AbortSignal;
  readonly onVerified: VerifyOptions["onVerified"];
  readonly history: MergedHistory | undefined;
  readonly sinkChain: string | undefined;
  readonly asked: ReadonlyMap<TableName, bigint>;
}

interface Findings {
  units: number;
  rows: bigint;
  compared: number;
  unsound: number;
  missing: bigint;
  divergence: Divergence | undefined;
  readonly listed: Verified[];
  readonly gaps: TableRange[];
  readonly uncompared: TableRange[];
}

/**
 * Compares the rows of a sink's tables with its ledger and, with `deep`, with what the node sends. Nothing is changed.
 * Memory does not grow with the history.
 *
 * @param sink is only read, and closed at the end
 * @param options the node, the depth, and the part of the sink
 * @returns how many units are sound, and which are not
 * @throws `RequestError` if an option is wrong, or the sink holds a different chain than the node; errors of node and sink
 *
 * @example
 * const { unsound } = await verifySync(sink, { clients: client, deep: true });
 */
export function verifySync(sink: Sink, options: VerifyOptions = {}): Promise<Verification> {
  options = snapshot(options);
  return withSink(sink, async () => {
    assertKnownKeys("options", options, OPTIONS);
    assertOneOf("deep", options.deep, [true, false]);
    assertFunction("onVerified", options.onVerified);
    const { deep = false, onVerified } = options;
    const given = options.tables && parseTables(options.tables);
    const range = parseBlockRange(options.range);
    const signal = parseSignal(options.signal);
    const clients = options.clients === undefined ? [] : parseClients(options.clients);
    if (deep && clients.length === 0) {
      throw noClient();
    }
    const history = clients.length === 0 ? undefined : await readHistory(clients, signal);
    const sinkChain = await sink.inspect(signal);
    if (history !== undefined) {
      assertSameChain(sink.name, sinkChain, history.chainId);
    }
    const asked = sinkChain === undefined ? new Map<TableName, bigint>() : await askedTables(sink);
    const context: VerifyContext = { sink, clients, deep, range, signal, onVerified, history, sinkChain, asked };
    const lists = { listed: [], gaps: [], uncompared: [] };
    const findings: Findings = {
      units: 0,
      rows: 0n,
      compared: 0,
      unsound: 0,
      missing: 0n,
      divergence: undefined,
      ...lists,
    };
    for (const table of given ?? (asked.size === 0 ? tableNames : asked.keys())) {
      await verifyTable(table, context, findings);
    }
    const { missing, divergence, uncompared, gaps, ...found } = findings;
    return {
      ...(sinkChain !== undefined && { chainId: sinkChain }),
      ...found,
      gaps: oldestGaps(gaps),
      ...(deep && { uncompared }),
      ...(history && { missing }),
      ...(divergence && { divergence }),
    };
  });
}

async function verifyTable(table: TableName, context: VerifyContext, findings: Findings): Promise<void> {
  const { sink, range, signal, history, sinkChain, asked, onVerified } = context;
  const segments = history?.segments ?? [];
  const from = asked.get(table);
  const gaps: TableRange[] = [];
  for await (const step of matchLedger(readLedger(sink, table, sinkChain), segments, range, { from })) {
    throwIfAborted(signal);
    if (step.kind === "missing") {
      findings.missing += 1n;
      continue;
    }
    if (step.kind === "gap") {
      gaps.push({ table, ...step.blocks });
      continue;
    }
    const { entry, relation } = step;
    const isFirst = findings.divergence === undefined || entry.fromBlock < findings.divergence.entry.fromBlock;
    if (relation === "diverged" && isFirst) {
      findings.divergence = divergenceAt(entry, segments);
    }
    if (entry.toBlock >= range.fromBlock && entry.fromBlock <= range.toBlock) {
      const verified = await verifyEntry(entry, relation, context, findings);
      findings.units += 1;
      findings.rows += verified.rows;
      findings.unsound += verified.sound ? 0 : 1;
      if (!verified.sound && findings.listed.length < MAX_LISTED) {
        findings.listed.push(verified);
      }
      onVerified?.(withJson(verified));
    }
  }
  const ledger = { entries: () => readLedger(sink, table, sinkChain) };
  const filled = await fillGaps(ledger, gaps, { earlier: history?.earlier ?? [] }, range);
  findings.missing += BigInt(filled.missing.length);
  findings.gaps.push(...filled.gaps);
}

/** Adds a range, and merges it with the previous one if they are adjacent. */
function addRange(ranges: TableRange[], range: TableRange): void {
  const last = ranges.at(-1);
  if (last?.table === range.table && last.toBlock + 1n === range.fromBlock) {
    ranges[ranges.length - 1] = { ...last, toBlock: range.toBlock };
  } else if (ranges.length < MAX_LISTED) {
    ranges.push(range);
  }
}

/** Verifies a unit. A damaged unit is reported, so that the others are verified, too. */
async function verifyEntry(
  entry: LedgerEntry,
  relation: EntryRelation,
  context: VerifyContext,
  findings: Findings,
): Promise<Verified> {
  const { sink, deep, history } = context;
  const part = deep && relation === "matching" ? history?.availablePart(entry) : undefined;
  findings.compared += part === undefined ? 0 : 1;
  if (deep && relation !== "diverged" && part?.fromBlock !== entry.fromBlock) {
    const toBlock = part === undefined ? entry.toBlock : part.fromBlock - 1n;
    addRange(findings.uncompared, { table: entry.table, fromBlock: entry.fromBlock, toBlock });
  }
  try {
    const rows = await sink.countRows(entry);
    const sound = rows === entry.rows && relation !== "diverged";
    if (part === undefined) {
      return { entry, rows, sound };
    }
    const compared = await compare(entry, part, context);
    const { sameCsv, missing, extra } = compared;
    return { entry, rows, deep: compared, sound: sound && sameCsv && missing === 0n && extra === 0n };
  } catch (reason) {
    if (reason instanceof SinkError && reason.code === Code.DataLoss) {
      return { entry, rows: 0n, error: reason, sound: false };
    }
    throw reason;
  }
}

/** Fetches the part of a unit that nodes have, from another node after each failure, and compares it. */
async function compare(
  entry: LedgerEntry,
  part: LedgerEntry,
  { sink, clients, history, signal }: VerifyContext,
): Promise<NonNullable<Verified["deep"]>> {
  const candidates = clients.filter((client) => history?.has(client, part));
  const compareOnce = async (attempt: number) => {
    const client = candidates[(attempt - 1) % candidates.length];
    if (client === undefined) {
      throw noClient();
    }
    const fetched: UnitCsv[] = [];
    const fetch = fetchUnit(client, part, { signal });
    const fetchOnce = async () => {
      const csv = await fetch();
      fetched.push(csv);
      return csv;
    };
    const found = await sink.compareRows(entry, fetchOnce, signal);
    const sent = fetched[0]?.measures();
    if (part.fromBlock !== entry.fromBlock) {
      const extra = max(0n, found.extra - (entry.rows - (sent?.rows ?? 0n))); // The other rows are of earlier blocks.
      return { sameCsv: true, missing: found.missing, extra, fromBlock: part.fromBlock };
    }
    return { sameCsv: entry.sha256 === "" || sent?.sha256 === entry.sha256, ...found };
  };
  const delayMsAfter = (reason: unknown, attempt: number) => {
    throwIfAborted(signal);
    if (!isTransient(reason) || attempt >= ATTEMPTS) {
      throw reason;
    }
    return backoffMs(attempt);
  };
  return retry(compareOnce, delayMsAfter, signal);
}

function noClient(): RequestError {
  return new RequestError("a deep verification needs a client", { advice: "Set clients to the node to fetch from." });
}
