import { type TableName, tableNames } from "../../data/schema/table-names.js";
import { FROM_BLOCK, sinkColumns } from "../sink-columns.js";
import { candleFunction, marketViews } from "./market-views.js";
import { helperFunctions, loadedBlocksView, stateFunctions, stateViews } from "./state-views.js";
import { readableQuery } from "./table-views.js";
import { listedTables, versionViews } from "./version-views.js";
import {
  DUCKDB_MACROS,
  type HelperFunction,
  type TableFunction,
  type View,
  type ViewDialect,
  type ViewedTables,
} from "./view-sql.js";

/** What the views are made of: the tables that exist, each with its columns that this release does not know. */
export interface ViewTables {
  readonly dialect: ViewDialect;
  /** The prefix of all names: the schema with a dot, or nothing. */
  readonly prefix: string;
  readonly tables: ViewedTables;
}

/** The views and functions of a sink, in the order in which they can be created. */
export interface SinkViews {
  /** The tables that the views need, each with the statement that creates it if it does not exist. */
  readonly before: readonly { readonly name: string; readonly create: string }[];
  readonly parts: readonly SinkView[];
}

/** A view, or a function that returns a value or rows. */
export interface SinkView {
  readonly kind: "view" | "function" | "table function";
  readonly name: string;
  /** Creates it, or replaces it if its columns or parameters are the same. */
  readonly create: string;
}

/**
 * Returns the tables that views can be made of, each with its columns that this release does not know. Others belong to someone else, or to
 * another release.
 *
 * @param columns the columns of each table
 */
export function viewedTables(columns: ReadonlyMap<string, readonly string[]>): ViewedTables {
  return new Map(
    tableNames.flatMap((table): [TableName, string[]][] => {
      const known = new Set([...sinkColumns(table).map(({ name }) => name), FROM_BLOCK]);
      const own = columns.get(table) ?? [];
      return [...known].every((name) => own.includes(name)) ? [[table, own.filter((name) => !known.has(name))]] : [];
    }),
  );
}

/** Returns the views and functions over the tables of a sink. */
export function sinkViews({ dialect, prefix, tables }: ViewTables): SinkViews {
  const readable = [...tables].map(([table, unknown]) => ({
    name: `${table}_v`,
    query: readableQuery(dialect, prefix, { table, rows: `${prefix}${table}`, unknown }),
  }));
  const functions = [
    ...(tables.has("trades") ? [candleFunction(dialect, prefix)] : []),
    ...stateFunctions(dialect, prefix, tables),
  ];
  const view = ({ name, query }: View) => ({
    kind: "view" as const,
    name,
    create: `CREATE OR REPLACE VIEW ${prefix}${name} AS ${query}`,
  });
  const helper = (each: HelperFunction) => ({ kind: "function" as const, ...each });
  return {
    before: listedTables(dialect, prefix),
    parts: [
      ...(dialect === "duckdb" ? DUCKDB_MACROS : []).map(helper),
      ...[...versionViews(dialect, prefix, tables), loadedBlocksView(prefix)].map(view),
      ...helperFunctions(dialect, prefix, tables).map(helper),
      ...[...readable, ...stateViews(dialect, prefix, tables), ...marketViews(dialect, prefix, tables)].map(view),
      ...functions.map((each) => ({
        kind: "table function" as const,
        name: each.name,
        create: functionSql(dialect, prefix, each),
      })),
    ],
  };
}

function functionSql(
  dialect: ViewDialect,
  prefix: string,
  { name, parameters, returns, query }: TableFunction,
): string {
  if (dialect === "duckdb") {
    const list = parameters.map((each) =>
      each.byDefault === undefined ? each.name : `${each.name} := ${each.byDefault}`,
    );
    return `CREATE OR REPLACE MACRO ${name}(${list.join(", ")}) AS TABLE ${query}`;
  }
  const list = parameters.map(
    (each) => `${each.name} ${each.type}${each.byDefault === undefined ? "" : ` DEFAULT ${each.byDefault}`}`,
  );
  // Its names are resolved now, and not by the search path of those who call it.
  return `CREATE OR REPLACE FUNCTION ${prefix}${name}(${list.join(", ")}) RETURNS ${returns} LANGUAGE sql STABLE BEGIN ATOMIC\n${query};\nEND`;
}
