import type { PoolClient } from "pg";
import { RequestError } from "../../../base/errors/index.js";
import { assertArray, assertKnownKeys, assertOneOf } from "../../../base/input/assert.js";
import { snapshot } from "../../../base/input/snapshot.js";
import { type TableName, tableNames } from "../../../data/schema/table-names.js";
import type { Sink } from "../../sink.js";
import { FROM_BLOCK } from "../../sink-columns.js";
import { storeListedSql } from "../../views/version-views.js";
import { entryOf, type LedgerRow } from "../ledger-entry.js";
import { assertTrusted, readCatalog, schemaOid } from "./postgres-catalog.js";
import { type Connections, openConnections } from "./postgres-connections.js";
import { compareCoverageInSql, countCoveredBlocks, emptyCoverage } from "./postgres-coverage.js";
import { isDuplicate } from "./postgres-errors.js";
import { assertSupported, changeMarks, ENTRY, readAsked, readChain, readIdentity } from "./postgres-ledger.js";
import { createIndexes, createQueryIndexes, createTables, usedNames } from "./postgres-tables.js";
import { type PostgresPool, parseTarget, type Target } from "./postgres-target.js";
import { compareRows, countRows, hasUnit, loadUnit, removeUnit } from "./postgres-units.js";
import { createViews } from "./postgres-views.js";
import { createUnknownColumns, type UnknownColumns } from "./unknown-columns.js";

/** Options of a PostgreSQL sink. */
export interface PostgresSinkOptions {
  /** The schema of the tables, which is created if it does not exist; `public` by default. Each chain needs its own. */
  readonly schema?: string | undefined;
  /**
   * When primary keys and indexes are created: `with` the tables, the default, or `after`, by
   * {@link PostgresSink.createIndexes} or the next sync with the default. The first sync is faster without them.
   */
  readonly createIndexes?: "with" | "after" | undefined;
  /** Whether a sync creates views such as `trades_v` and `candles_1h`, and functions such as `orders_at`; `all` by default. */
  readonly views?: "all" | "none" | undefined;
  /**
   * Roles that may own the schema, its tables and their triggers. An owner can run code as the sync's role, so a sync is refused
   * if anything belongs to another role. The sync's role and superusers are always trusted.
   */
  readonly trustedOwners?: readonly string[] | undefined;
}

/** The methods that a sink without views lacks. */
type ViewMethod = "createViews" | "storeListed";

/** A sink in PostgreSQL. */
export interface PostgresSink extends Required<Omit<Sink, ViewMethod>>, Pick<Sink, ViewMethod> {
  /**
   * Creates the primary keys and indexes that the opened tables lack, or, after `inspect`, all tables of the schema.
   * This may take a long time, and blocks loads of the table.
   *
   * @param signal cancels the call; indexes of tables that are done remain
   */
  createIndexes(signal?: AbortSignal): Promise<void>;
  /**
   * Creates the missing indexes for common queries, such as the trades of a buyer. Call it after the first rows were
   * loaded. It may take a long time, and blocks loads of the table.
   *
   * @param signal cancels the call; indexes that are done remain
   * @returns the number of created indexes
   */
  createQueryIndexes(signal?: AbortSignal): Promise<number>;
  /**
   * Returns the sink's target, including the password, for a queue in the same database.
   *
   * @internal
   */
  target(): Target;
}

/** The number of ledger entries in a page. */
const PAGE = 1000;

interface Opened {
  readonly connections: Connections;
  /** The schema's oid; `undefined` if the sink was opened by `inspect` and holds no history yet. */
  readonly schema?: string | undefined;
  readonly tables: readonly TableName[];
  /** Absent if the sink was opened by `inspect`. */
  readonly unknowns?: UnknownColumns;
}

/**
 * Creates a sink that stores history in PostgreSQL 14 or later. It sends the CSV files unchanged to COPY, and commits the rows
 * of a unit and its entry in the ledger (`tradewire_ledger`) in one transaction. The packages `pg` and `pg-copy-streams` must be
 * installed.
 *
 * @param target a URL such as `postgres://me@db.example/history`, whose missing parts are taken from libpq's environment
 *   variables, if `pg` supports them; or a pool of `pg`, which the sink does not close
 * @param options schema, indexes and views
 * @returns the sink. It does not connect before it is opened
 * @throws `RequestError` if the URL or the schema's name is invalid, or an option is unknown or invalid
 *
 * @example
 * const sink = postgresSink("postgres://me@db.example/history", { schema: "mainnet" });
 * await syncHistory(client, { sink });
 */
export function postgresSink(target: string | PostgresPool, options: PostgresSinkOptions = {}): PostgresSink {
  options = snapshot(options);
  assertKnownKeys("options", options, { schema: true, createIndexes: true, views: true, trustedOwners: true });
  assertOneOf("createIndexes", options.createIndexes, ["with", "after"]);
  assertOneOf("views", options.views, ["all", "none"]);
  if (options.trustedOwners !== undefined) {
    assertArray("trustedOwners", options.trustedOwners, "an array of role names");
  }
  const place = parseTarget(target, options.schema ?? "public", options.trustedOwners);
  const { within } = place;
  const { views = "all" } = options;
  let state: Opened | undefined;
  let losses = 0;

  async function opening(
    signal: AbortSignal,
    use: (connections: Connections) => Promise<Opened>,
    onLost?: () => void,
  ): Promise<void> {
    if (state !== undefined) {
      throw new RequestError(`${place.name} is already open`, { advice: "Create a separate sink for each use." });
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

  /** Runs a transaction on the ledger and the tables, or returns `none` if they do not exist. */
  function inTransaction<T>(
    what: string,
    use: (client: PoolClient, from: Opened) => Promise<T>,
    none: T,
    signal?: AbortSignal,
  ) {
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
          const { chainId, tables, fromBlock } = how;
          const indexes = options.createIndexes !== "after";
          const wanted = { ...place, chainId, tables, fromBlock, indexes };
          const schema = await connections.transaction("creating the tables", {}, async (client) => {
            await createTables(client, wanted);
            return schemaOid(client, place.schema);
          });
          return { connections, schema, tables, unknowns: createUnknownColumns(connections, within, how) };
        },
        how.onLost,
      ),

    async inspect(signal) {
      let chain: string | undefined;
      await opening(signal, async (connections) => {
        const found = await connections.transaction("reading the ledger", {}, (client) => readContents(client, place));
        chain = found.chain;
        return { connections, schema: found.schema, tables: found.tables };
      });
      return chain;
    },

    async *entries(table, behind = -1n) {
      let page: LedgerRow[] = [];
      do {
        const last = String(page.at(-1)?.from_block ?? behind);
        page = await inTransaction("reading the ledger", (client) => readEntries(client, within, table, last), []);
        yield* page.map(entryOf);
      } while (page.length === PAGE);
    },

    asked: () =>
      inTransaction("reading the ledger", (client) => readAsked(client, within), new Map<TableName, bigint>()),

    markHistory: (next) =>
      inTransaction("marking the history", (client) => changeMarks(client, within, next), undefined),

    identity: () =>
      inTransaction("identifying the ledger", async (client) => `${losses} ${await readIdentity(client, within)}`, ""),

    async compareCoverage(query) {
      const compare = (client: PoolClient, { connections }: Opened) =>
        compareCoverageInSql(client, within, connections.copyFrom, query);
      return inTransaction("comparing the ledger with the node", compare, emptyCoverage(query));
    },

    async coverage(tables, range, parts) {
      const none = tables.map((table) => ({ table, blocks: new Array<number>(parts).fill(0) }));
      return inTransaction(
        "reading the ledger",
        (client) => countCoveredBlocks(client, within, tables, range, parts),
        none,
      );
    },

    async load(unit, fetch, { replace, signal }) {
      const { connections, schema, unknowns } = opened();
      if (schema === undefined || unknowns === undefined) {
        throw new RequestError(`${place.name} was opened read-only, with inspect()`, {
          advice: "Call open() to load units.",
        });
      }
      const columns = (names: readonly string[]) => unknowns.columns(unit, names, signal);
      const loading = { copyFrom: connections.copyFrom, schema, within, replace, columns };
      const what = `loading ${unit.table} from block ${unit.fromBlock}`;
      const run = <T>(use: (client: PoolClient) => Promise<T>) => connections.transaction(what, { signal }, use);
      for (;;) {
        try {
          return await run((client) => loadUnit(client, unit, fetch, loading));
        } catch (reason) {
          // Another sync has loaded the same rows meanwhile, in units with other boundaries.
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
      inTransaction(`removing a unit of ${entry.table}`, (client) => removeUnit(client, within, entry), undefined),

    countRows: async (entry) =>
      inTransaction(`counting rows of ${entry.table}`, (client) => countRows(client, within, entry), 0n),

    ...(views === "all" && {
      async createViews(signal) {
        const create = (client: PoolClient, { schema: number = "" }: Opened) =>
          createViews(client, { ...place, number });
        await inTransaction("creating the views", create, undefined, signal);
      },
      async storeListed(table, batches) {
        for await (const rows of batches) {
          const { sql, values } = storeListedSql("postgres", `${within}.`, table, rows);
          const store = (client: PoolClient) => client.query(sql, values);
          await inTransaction("storing what a node lists", store, undefined);
        }
      },
    }),

    async compareRows(entry, fetch, signal) {
      const compare = (client: PoolClient, { connections }: Opened) =>
        compareRows(client, within, connections.copyFrom, entry, fetch);
      return inTransaction(`comparing rows of ${entry.table}`, compare, { missing: 0n, extra: 0n }, signal);
    },

    async createIndexes(signal) {
      for (const table of opened().tables) {
        const create = (client: PoolClient, { schema = "" }: Opened) =>
          createIndexes(client, { number: schema, within }, [table]);
        await inTransaction(`creating the indexes of ${table}`, create, undefined, signal);
      }
    },

    async createQueryIndexes(signal) {
      let created = 0;
      for (const table of opened().tables) {
        const create = (client: PoolClient, { schema = "" }: Opened) =>
          createQueryIndexes(client, { number: schema, within }, table);
        created += await inTransaction(`creating the indexes of ${table}`, create, 0, signal);
      }
      return created;
    },

    async close() {
      await state?.connections[Symbol.asyncDispose]();
    },
    [Symbol.asyncDispose]() {
      return this.close();
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
  await assertSupported(client);
  const number = await schemaOid(client, place.schema);
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
