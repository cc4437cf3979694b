import { Code } from "@connectrpc/connect";
import { checkSignal, requireFunction, requireKnown, requireOneOf } from "../errors/check-values.js";
import { RequestError, SinkError } from "../errors/index.js";
import { mayPass } from "../errors/reaction.js";
import type { BlockRange } from "../history/segments.js";
import type { TableName } from "../schema/tables.js";
import { backoffMs, requireGoing, wait } from "../signal/wait.js";
import { checkBlocks, checkTables, clientsOf } from "./check-options.js";
import { fetchUnit } from "./fetch-unit.js";
import { readHistory } from "./node-history.js";
import type { SyncClient, SyncOptions, Verified } from "./options.js";
import { requireSameChain } from "./parting.js";
import { entriesOf } from "./plan.js";
import type { Parting, Sink, UnitCsv } from "./sink.js";
import { partingAt, type Standing, standings } from "./standing.js";
import type { LedgerEntry } from "./unit.js";
import { withSink } from "./with-sink.js";

/** How many unsound units are listed. */
const MAX_UNSOUND = 1000;
/** How often a unit is fetched, at most. */
const ATTEMPTS = 5;

const OPTIONS = { clients: true, deep: true, tables: true, range: true, signal: true, onVerified: true } as const;

/** How a sink is verified. */
export interface VerifyOptions {
  /** The node, or several of one network: needed with `deep`, else they tell what is missing and where histories part. */
  readonly clients?: SyncClient | readonly SyncClient[] | undefined;
  /** Whether each unit is fetched again and compared, value by value; false by default. */
  readonly deep?: boolean | undefined;
  /** All tables by default. */
  readonly tables?: readonly TableName[] | undefined;
  /** Units that overlap it are verified; all by default. */
  readonly range?: SyncOptions["range"];
  readonly signal?: AbortSignal | undefined;
  /** Told of each unit; what it throws ends the verification. */
  readonly onVerified?: ((verified: Verified) => void) | undefined;
}

/** Blocks of a table. */
export interface TableRange extends BlockRange {
  readonly table: TableName;
}

/** What a verification has found. */
export interface Verification {
  /** The chain that the sink holds; absent where it holds nothing yet. */
  readonly chainId?: string;
  /** Units that were verified, and their rows in the tables. */
  readonly units: bigint;
  readonly rows: bigint;
  /** Units that were fetched again, also those of which the nodes have only the last segments. */
  readonly compared: bigint;
  /**
   * With `deep`: blocks whose rows were counted and not compared, as no node that answers has them: all of a unit, or its
   * beginning. Adjacent ones are one range; the first 1000.
   */
  readonly uncompared?: readonly TableRange[];
  /** How many units are not as the ledger, or the node, says. */
  readonly unsound: bigint;
  /** The first of them, 1000 at most. */
  readonly listed: readonly Verified[];
  /** Blocks of the range between units that no unit has; the first 1000. Something has removed their units. */
  readonly gaps: readonly TableRange[];
  /** With clients: how many segments are missing, all tables together. */
  readonly missing?: bigint;
  /** With clients: where the histories part. */
  readonly parting?: Parting;
}

/** What one verification goes by. */
interface Verifying {
  readonly sink: Sink;
  readonly clients: readonly SyncClient[];
  readonly signal: AbortSignal;
}

/**
 * Compare what stands in a sink's tables with its ledger and, with `deep`, with what the node sends. Nothing is changed.
 * Memory does not grow with the history.
 *
 * @param sink is looked at, and closed at the end
 * @param options the node, how deep, and what of it
 * @returns how many units are sound, and which are not
 * @throws `RequestError` where an option is wrong, or the sink holds another chain than the node's; errors of node
 *   and sink
 *
 * @example
 * const { unsound } = await verifySync(sink, { clients: client, deep: true });
 */
export function verifySync(sink: Sink, options: VerifyOptions = {}): Promise<Verification> {
  return withSink(sink, async () => {
    requireKnown("options", options, OPTIONS);
    requireOneOf("deep", options.deep, [true, false]);
    requireFunction("onVerified", options.onVerified);
    const [tables, range] = [checkTables(options.tables), checkBlocks(options.range)];
    const signal = checkSignal(options.signal);
    const clients = options.clients === undefined ? [] : clientsOf(options.clients);
    if (options.deep === true && clients.length === 0) {
      throw new RequestError("a deep verification has no client", {
        advice: "Give the node to fetch from as clients.",
      });
    }
    const history = clients.length === 0 ? undefined : await readHistory(clients, signal);
    const held = await sink.inspect(signal);
    if (history !== undefined) {
      requireSameChain(sink.name, held, history.chainId);
    }
    const segments = history?.segments ?? [];
    const found = { units: 0n, rows: 0n, compared: 0n, unsound: 0n };
    const listed: Verified[] = [];
    const gaps: TableRange[] = [];
    const uncompared: TableRange[] = [];
    let missing = 0n;
    let parting: Parting | undefined;
    for (const table of tables) {
      let before: bigint | undefined;
      for await (const step of standings(entriesOf(sink, table, held), segments, range)) {
        requireGoing(signal);
        if (step.case === "missing") {
          missing += 1n;
          continue;
        }
        const { entry, standing } = step;
        if (standing === "parted" && (parting === undefined || entry.fromBlock < parting.entry.fromBlock)) {
          parting = partingAt(entry, segments);
        }
        const gap = {
          table,
          fromBlock: max(range.fromBlock, (before ?? entry.fromBlock - 1n) + 1n),
          toBlock: entry.fromBlock > range.toBlock ? range.toBlock : entry.fromBlock - 1n,
        };
        before = entry.toBlock;
        if (gap.fromBlock <= gap.toBlock && gaps.length < MAX_UNSOUND) {
          gaps.push(gap);
        }
        if (entry.toBlock < range.fromBlock || entry.fromBlock > range.toBlock) {
          continue;
        }
        const part = options.deep === true && standing === "of" ? history?.heldPart(entry) : undefined;
        const having = part === undefined ? [] : clients.filter((client) => history?.has(client, part));
        const verified = await verify(entry, standing, part, { sink, clients: having, signal });
        found.units += 1n;
        found.rows += verified.rows;
        found.compared += part === undefined ? 0n : 1n;
        if (options.deep === true && standing !== "parted" && part?.fromBlock !== entry.fromBlock) {
          const toBlock = part === undefined ? entry.toBlock : part.fromBlock - 1n;
          addRange(uncompared, { table, fromBlock: entry.fromBlock, toBlock });
        }
        found.unsound += verified.sound ? 0n : 1n;
        if (!verified.sound && listed.length < MAX_UNSOUND) {
          listed.push(verified);
        }
        options.onVerified?.(verified);
      }
    }
    return {
      ...(held !== undefined && { chainId: held }),
      ...found,
      listed,
      gaps,
      ...(options.deep === true && { uncompared }),
      ...(history && { missing }),
      ...(parting && { parting }),
    };
  });
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** Adds a range, to the one before where it is adjacent. */
function addRange(ranges: TableRange[], range: TableRange): void {
  const last = ranges.at(-1);
  if (last?.table === range.table && last.toBlock + 1n === range.fromBlock) {
    ranges[ranges.length - 1] = { ...last, toBlock: range.toBlock };
  } else if (ranges.length < MAX_UNSOUND) {
    ranges.push(range);
  }
}

/** Verifies a unit. One that is damaged is told of, and the others are verified, too. */
async function verify(
  entry: LedgerEntry,
  standing: Standing,
  part: LedgerEntry | undefined,
  verifying: Verifying,
): Promise<Verified> {
  try {
    return await verifyRows(entry, standing, part, verifying);
  } catch (reason) {
    if (reason instanceof SinkError && reason.code === Code.DataLoss) {
      return { entry, rows: 0n, error: reason, sound: false };
    }
    throw reason;
  }
}

async function verifyRows(
  entry: LedgerEntry,
  standing: Standing,
  part: LedgerEntry | undefined,
  verifying: Verifying,
): Promise<Verified> {
  const rows = await verifying.sink.countRows(entry);
  const sound = rows === entry.rows && standing !== "parted";
  if (part === undefined) {
    return { entry, rows, sound };
  }
  const compared = await compare(entry, part, verifying);
  const { sameCsv, missing, extra } = compared;
  return { entry, rows, deep: compared, sound: sound && sameCsv && missing === 0n && extra === 0n };
}

/** Fetches a unit again as far as nodes have it, from another node where one fails, and compares it. */
async function compare(
  entry: LedgerEntry,
  part: LedgerEntry,
  { sink, clients, signal }: Verifying,
): Promise<NonNullable<Verified["deep"]>> {
  for (let attempt = 1; ; attempt += 1) {
    const client = clients[(attempt - 1) % clients.length];
    if (client === undefined) {
      throw noClient();
    }
    const fetched: UnitCsv[] = [];
    try {
      const fetch = fetchUnit(client, part, { signal });
      const found = await sink.compareRows(
        entry,
        async () => {
          const csv = await fetch();
          fetched.push(csv);
          return csv;
        },
        signal,
      );
      const sent = fetched[0]?.measures();
      if (part.fromBlock !== entry.fromBlock) {
        const extra = max(0n, found.extra - (entry.rows - (sent?.rows ?? 0n))); // The others are of earlier blocks.
        return { sameCsv: true, missing: found.missing, extra, fromBlock: part.fromBlock };
      }
      return { sameCsv: entry.sha256 === "" || sent?.sha256 === entry.sha256, ...found };
    } catch (reason) {
      requireGoing(signal);
      if (!mayPass(reason) || attempt >= ATTEMPTS) {
        throw reason;
      }
      await wait(backoffMs(attempt), signal);
    }
  }
}

function noClient(): RequestError {
  return new RequestError("a deep verification has no client", { advice: "Give the node to fetch from as clients." });
}
