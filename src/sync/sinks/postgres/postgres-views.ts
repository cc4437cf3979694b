import type { PoolClient } from "pg";
import { Code } from "../../../base/errors/code.js";
import { quoted } from "../../../base/errors/error-text.js";
import { SinkError } from "../../../base/errors/index.js";
import { hasErrorCode } from "../../../base/errors/node-errors.js";
import { type TableName, tableNames } from "../../../data/schema/table-names.js";
import { type SinkViews, sinkViews } from "../../views/sink-views.js";
import { FROM_BLOCK, sinkColumns } from "../sink-columns.js";
import type { Catalog } from "./postgres-catalog.js";

/** How the comment of each view and function begins that a sync has created, and may drop. */
const OURS = "created by tradewire ";

/** A view or a function of the schema, with its comment. */
interface Found {
  readonly kind: "view" | "function" | "other";
  readonly name: string;
  readonly comment: string | null;
}

const FOUND = `
  SELECT CASE WHEN c.relkind = 'v' THEN 'view' ELSE 'other' END AS kind, c.relname AS name, obj_description(c.oid, 'pg_class') AS comment
  FROM pg_class c WHERE c.relnamespace = $1::oid
  UNION ALL
  SELECT 'function', p.proname, obj_description(p.oid, 'pg_proc') FROM pg_proc p WHERE p.pronamespace = $1::oid`;

/** SQLSTATE of an object that cannot be dropped because another one uses it. */
const USED = "2BP01";

/**
 * Creates the views and functions over the tables of a schema. Those of another release are replaced; if they are up to date, nothing is
 * locked.
 *
 * @throws {@link SinkError} if something of someone else has the name of one, or uses one that must be replaced
 */
export async function createViews(
  client: PoolClient,
  schema: { readonly number: string; readonly within: string },
  catalog: Catalog,
): Promise<void> {
  const { before, parts } = viewsOf(schema.within, catalog);
  const mark = `${OURS}${await digestOf(client, parts)}`;
  const { rows } = await client.query<Found>(FOUND, [schema.number]);
  const isOurs = ({ comment }: Found) => comment?.startsWith(OURS) === true;
  const names = new Set(parts.map(({ name }) => name));
  const taken = rows.find((found) => names.has(found.name) && !isOurs(found));
  if (taken !== undefined) {
    throw new SinkError(`${quoted(taken.name)} exists but was not created by tradewire sync`, {
      code: Code.FailedPrecondition,
      advice: 'Rename it, use another schema, or sync without views (views: "none", --views none).',
    });
  }
  const ours = rows.filter(isOurs);
  if (ours.length === parts.length && ours.every(({ comment }) => comment === mark)) {
    return;
  }
  await dropViews(client, schema.within, ours);
  for (const statement of before) {
    await client.query(statement);
  }
  for (const { kind, name, create } of parts) {
    await client.query(create);
    await client.query(`COMMENT ON ${kind.toUpperCase()} ${schema.within}.${name} IS '${mark}'`);
  }
}

function viewsOf(within: string, { tables }: Catalog): SinkViews {
  const found = tableNames.flatMap((table): [TableName, string[]][] => {
    const columns = tables.get(table);
    if (columns === undefined || !columns.has(FROM_BLOCK)) {
      return [];
    }
    const known = new Set([...sinkColumns(table).map(({ name }) => name), FROM_BLOCK]);
    return [[table, [...columns.keys()].filter((name) => !known.has(name))]];
  });
  return sinkViews({ dialect: "postgres", prefix: `${within}.`, tables: new Map(found) });
}

async function digestOf(client: PoolClient, parts: SinkViews["parts"]): Promise<string> {
  const text = parts.map(({ create }) => create).join(";\n");
  const { rows } = await client.query<{ digest: string }>(
    "SELECT encode(sha256(convert_to($1, 'UTF8')), 'hex') AS digest",
    [text],
  );
  return rows[0]?.digest ?? "";
}

/** Drops views and functions of a sync, all at once, as they use each other. */
async function dropViews(client: PoolClient, within: string, ours: readonly Found[]): Promise<void> {
  const list = (kind: Found["kind"]) =>
    ours
      .filter((found) => found.kind === kind)
      .map(({ name }) => `${within}.${name}`)
      .join(", ");
  try {
    for (const kind of ["function", "view"] as const) {
      const names = list(kind);
      if (names !== "") {
        await client.query(`DROP ${kind.toUpperCase()} ${names}`);
      }
    }
  } catch (reason) {
    if (!hasErrorCode(reason, USED)) {
      throw reason;
    }
    throw new SinkError("the views of another release cannot be replaced: views or functions of others use them", {
      code: Code.FailedPrecondition,
      advice:
        'Drop those, and create them again after the sync has started; or sync without views (views: "none", --views none).',
      cause: reason,
    });
  }
}
