import type { PoolClient } from "pg";
import { RequestError } from "../../../errors/index.js";
import { assertArray, assertKnownKeys, assertOneOf } from "../../../input/assert.js";
import { type TableName, tableNames } from "../../../schema/table-names.js";
import type { Sink } from "../../sink.js";
import { FROM_BLOCK } from "../sink-columns.js";
import { assertTrusted, readCatalog, schemaNumber } from "./postgres-catalog.js";
import { type Connections, openConnections } from "./postgres-connections.js";
import { compareCoverageInSql, countCoveredBlocks, emptyCoverage } from "./postgres-coverage.js";
import { isDuplicate } from "./postgres-errors.js";
import { checkServer, ENTRY, entryOf, type LedgerRow, readChain, readIdentity } from "./postgres-ledger.js";
import { createIndexes, createQueryIndexes, createTables, usedNames } from "./postgres-tables.js";
import { type PostgresPool, readTarget, type Target } from "./postgres-target.js";
import { compareRows, countRows, hasUnit, loadUnit, removeUnit } from "./postgres-units.js";
import { createUnknownColumns, type UnknownColumns } from "./unknown-columns.js";

/** How tables are kept in PostgreSQL. */
export interface PostgresSinkOptions {
  /** The schema that holds the tables, which is made where it is missing; `public` by default. A schema holds a chain. */
  readonly schema?: string | undefined;
  /**
   * When the tables get their primary keys and indexes: `with` them, the default, or `after`, by
   * {@link PostgresSink.createIndexes} or by the next sync that is to have them. A first sync is faster without.
   */
  readonly createIndexes?: "with" | "after" | undefined;
  /** Whether to make a view of each table, such as `trades_named`, that has names for codes; false by default. */
  readonly namedViews?: boolean | undefined;
  /**
   * Roles that may own the schema, its tables and their triggers, as they could run code as the sync's own role anyway.
   * That role and superusers may always; what belongs to any other role is refused.
   */
  readonly trustedOwners?: readonly string[] | undefined;
}

/** A sink in PostgreSQL. */
export interface PostgresSink extends Required<Sink> {
  /**
   * Make the primary keys and indexes that the tables lack: those that it was opened for, or, after `inspect`, all of the
   * schema's. It may take long, and a table cannot be loaded meanwhile.
   *
   * @param signal ends it; tables that are done keep theirs
   */
  createIndexes(signal?: AbortSignal): Promise<void>;
  /**
   * Make the indexes that usual questions need, such as the trades of a buyer, as far as the tables lack them: best once
   * the first rows are there. It may take long, and a table cannot be loaded meanwhile.
   *
   * @param signal ends it; indexes that are done stay
   * @returns how many were made
   */
  createQueryIndexes(signal?: AbortSignal): Promise<number>;
  /**
   * Tell where the sink is, for what shares its database, such as a queue. It holds the password.
   *
   * @internal
   */
  target(): Target;
}

/** Entries of the ledger that are read at once. */
const PAGE = 1000;

/** What an opened sink works with. */
interface Opened {
  readonly connections: Connections;
  /** The schema's number; `undefined` where it holds no history yet, and is only looked at. */
  readonly schema?: string | undefined;
  readonly tables: readonly TableName[];
  /** Absent where the sink is only looked at. */
  readonly unknowns?: UnknownColumns;
}

/**
 * Keep history in PostgreSQL 14 or later. The CSV files' own bytes go to its COPY; rows and their entry in the ledger
 * (`tradewire_ledger`) are one transaction. The packages `pg` and `pg-copy-streams` must be installed.
 *
 * @param target a URL such as `postgres://me@db.example/history`, what it leaves out from libpq's environment variables,
 *   as `pg` takes them; or a pool of `pg`, which is not ended
 * @param options schema, indexes and views
 * @returns the sink. Nothing is connected before it is opened
 * @throws `RequestError` where the URL or the schema's name cannot be right, or an option is unknown or wrong
 *
 * @example
 * const sink = postgresSink("postgres://me@db.example/history", { schema: "mainnet" });
 * await syncHistory(client, { sink });
 */
export function postgresSink(target: string | PostgresPool, options: PostgresSinkOptions = {}): PostgresSink {
  assertKnownKeys("options", options, { schema: true, createIndexes: true, namedViews: true, trustedOwners: true });
  assertOneOf("createIndexes", options.createIndexes, ["with", "after"]);
  assertOneOf("namedViews", options.namedViews, [true, false]);
  if (options.trustedOwners !== undefined) {
    assertArray("trustedOwners", options.trustedOwners, "Give the names of roles.");
  }
  const place = readTarget(target, options.schema ?? "public", options.trustedOwners);
  const { within } = place;
  let state: Opened | undefined;
  let losses = 0;

  async function opening(
    signal: AbortSignal,
    use: (connections: Connections) => Promise<Opened>,
    onLost?: () => void,
  ): Promise<void> {
    if (state !== undefined) {
      throw new RequestError(`${place.name} is open already`, { advice: "Make a sink of its own for each use." });
    }
    const connections = await openConnections(place, signal, () => {
      losses += 1;
      onLost?.();
    });
    try {
      state = await use(connections);
    } catch (reason) {
      await connections[Symbol.asyncDispose]();
      throw reason;
    }
  }

  function opened(): Opened {
    if (state === undefined) {
      throw new RequestError(`${place.name} is not open`, { advice: "Call open() or inspect() first." });
    }
    return state;
  }

  /** Do something with the ledger and the tables; where there are none, answer at once. */
  function ask<T>(what: string, use: (client: PoolClient, from: Opened) => Promise<T>, none: T, signal?: AbortSignal) {
    const from = opened();
    return from.schema === undefined
      ? Promise.resolve(none)
      : from.connections.transaction(what, { signal }, (client) => use(client, from));
  }

  return {
    name: place.name,
    target: () => place,

    open: (how) =>
      opening(
        how.signal,
        async (connections) => {
          const { chainId, tables } = how;
          const indexes = options.createIndexes !== "after";
          const wanted = { ...place, chainId, tables, indexes, namedViews: options.namedViews === true };
          const schema = await connections.transaction("making the tables", {}, async (client) => {
            await createTables(client, wanted);
            return schemaNumber(client, place.schema);
          });
          return { connections, schema, tables, unknowns: createUnknownColumns(connections, within, how) };
        },
        how.onLost,
      ),

    async inspect(signal) {
      let chain: string | undefined;
      await opening(signal, async (connections) => {
        const found = await connections.transaction("looking at the ledger", {}, (client) =>
          readContents(client, place),
        );
        chain = found.chain;
        return { connections, schema: found.schema, tables: found.tables };
      });
      return chain;
    },

    async *entries(table, behind = -1n) {
      let page: LedgerRow[] = [];
      do {
        const last = page.at(-1)?.from_block ?? String(behind);
        page = await ask("reading the ledger", (client) => readEntries(client, within, table, last), []);
        yield* page.map(entryOf);
      } while (page.length === PAGE);
    },

    identity: () =>
      ask("looking which ledger it is", async (client) => `${losses} ${await readIdentity(client, within)}`, ""),

    async compareCoverage(query) {
      const survey = (client: PoolClient, { connections }: Opened) =>
        compareCoverageInSql(client, within, connections.copyFrom, query);
      return ask("comparing the ledger with the node", survey, emptyCoverage(query));
    },

    async coverage(tables, range, parts) {
      const none = tables.map((table) => ({ table, blocks: new Array<number>(parts).fill(0) }));
      return ask("reading the ledger", (client) => countCoveredBlocks(client, within, tables, range, parts), none);
    },

    async load(unit, fetch, { replace, signal }) {
      const { connections, schema, unknowns } = opened();
      if (schema === undefined || unknowns === undefined) {
        throw new RequestError(`${place.name} was opened to look at it`, { advice: "Open it with open() to load." });
      }
      const columns = (names: readonly string[]) => unknowns.columns(unit, names, signal);
      const loading = { copyFrom: connections.copyFrom, schema, within, replace, columns };
      const what = `loading ${unit.table} from block ${unit.fromBlock}`;
      const run = <T>(use: (client: PoolClient) => Promise<T>) => connections.transaction(what, { signal }, use);
      for (;;) {
        try {
          return await run((client) => loadUnit(client, unit, fetch, loading));
        } catch (reason) {
          // Rows have the same keys as those of a sync with units of other extents, which was faster.
          if (isDuplicate(reason) && (await run((client) => hasUnit(client, within, unit, replace)))) {
            return { outcome: "there" };
          }
          if (!(await unknowns.value(unit, reason, signal))) {
            throw reason;
          }
        }
      }
    },

    remove: async (entry) =>
      ask(`removing a unit of ${entry.table}`, (client) => removeUnit(client, within, entry), undefined),

    countRows: async (entry) =>
      ask(`counting rows of ${entry.table}`, (client) => countRows(client, within, entry), 0n),

    async compareRows(entry, fetch, signal) {
      const compare = (client: PoolClient, { connections }: Opened) =>
        compareRows(client, within, connections.copyFrom, entry, fetch);
      return ask(`comparing rows of ${entry.table}`, compare, { missing: 0n, extra: 0n }, signal);
    },

    async createIndexes(signal) {
      for (const table of opened().tables) {
        const make = (client: PoolClient, { schema = "" }: Opened) =>
          createIndexes(client, { number: schema, within }, [table]);
        await ask(`making the indexes of ${table}`, make, undefined, signal);
      }
    },

    async createQueryIndexes(signal) {
      let made = 0;
      for (const table of opened().tables) {
        const make = (client: PoolClient, { schema = "" }: Opened) =>
          createQueryIndexes(client, { number: schema, within }, table);
        made += await ask(`making the indexes of ${table}`, make, 0, signal);
      }
      return made;
    },

    async [Symbol.asyncDispose]() {
      await state?.connections[Symbol.asyncDispose]();
    },
  };
}

/** Reads what a schema holds: its number if it holds a history, the chain of the history, and the tables with rows of it. */
async function readContents(
  client: PoolClient,
  place: Target,
): Promise<{
  readonly chain: string | undefined;
  readonly schema: string | undefined;
  readonly tables: readonly TableName[];
}> {
  await checkServer(client);
  const number = await schemaNumber(client, place.schema);
  const catalog = number === undefined ? undefined : await readCatalog(client, number);
  if (number !== undefined) {
    await assertTrusted(client, number, { ...place, names: usedNames(tableNames) });
  }
  const chain = catalog?.tables.has("tradewire_sync") ? await readChain(client, place.within) : undefined;
  const tables = tableNames.filter((table) => catalog?.tables.get(table)?.has(FROM_BLOCK));
  return { chain, schema: chain === undefined ? undefined : number, tables };
}

/** Reads the next entries of a table in the ledger, after the one that begins with the block `last`. */
async function readEntries(client: PoolClient, within: string, table: TableName, last: string): Promise<LedgerRow[]> {
  const sql = `SELECT ${ENTRY} FROM ${within}.tradewire_ledger AS e
        WHERE e.table_name = $1 AND e.from_block > $2 ORDER BY e.from_block LIMIT ${PAGE}`;
  return (await client.query<LedgerRow>(sql, [table, last])).rows;
}
