import { createHash } from "node:crypto";
import type { PoolClient } from "pg";
import { Code } from "../../../base/errors/code.js";
import { quoted } from "../../../base/errors/error-text.js";
import { SinkError } from "../../../base/errors/index.js";
import { hasErrorCode } from "../../../base/errors/node-errors.js";
import type { TrustedSchema } from "../../../base/postgres.js";
import { type TableName, tableNames } from "../../../data/schema/table-names.js";
import { FROM_BLOCK, identifier, sinkColumns } from "../../sink-columns.js";
import { type SinkViews, sinkViews } from "../../views/sink-views.js";
import { assertTrusted, type Catalog } from "./postgres-catalog.js";

/** The comment of each view and function that a sync has created, and may drop: with the digest of all of them. */
const OURS = /^created by tradewire [0-9a-f]{64}$/u;

/** A view or a function of the schema, with its comment. */
interface Found {
  readonly kind: "view" | "function" | "other";
  readonly name: string;
  readonly comment: string | null;
  /** Whether it belongs to the sync's role, or to a trusted one. */
  readonly trusted: boolean;
}

const FOUND = `
  SELECT kind, name, comment, owner = current_user OR owner = ANY ($2::text[]) AS trusted FROM (
    SELECT CASE WHEN c.relkind = 'v' THEN 'view' ELSE 'other' END AS kind, c.relname AS name, pg_get_userbyid(c.relowner) AS owner,
      obj_description(c.oid, 'pg_class') AS comment
    FROM pg_class c WHERE c.relnamespace = $1::oid
    UNION ALL
    SELECT 'function', p.proname, pg_get_userbyid(p.proowner), obj_description(p.oid, 'pg_proc')
    FROM pg_proc p WHERE p.pronamespace = $1::oid
  ) AS found`;

/** SQLSTATE of an object that cannot be dropped because another one uses it. */
const USED = "2BP01";

/**
 * Creates the views and functions over the tables of a schema. Those of another release are replaced; if they are up to date, nothing is
 * locked.
 *
 * @throws {@link SinkError} if something of someone else has the name of one, or uses one that must be replaced, or if another role owns one
 */
export async function createViews(
  client: PoolClient,
  schema: TrustedSchema & { readonly number: string; readonly within: string },
  catalog: Catalog,
): Promise<void> {
  const prefix = `${schema.within}.`;
  const { before, parts } = sinkViews({ dialect: "postgres", prefix, tables: viewedTables(catalog) });
  const mark = markOf(parts);
  const names = new Set(parts.map(({ name }) => name));
  await assertTrusted(client, schema.number, { ...schema, names: [...names] });
  const { rows } = await client.query<Found>(FOUND, [schema.number, schema.trustedOwners]);
  const isOurs = ({ comment, trusted }: Found) => trusted && OURS.test(comment ?? "");
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
    await client.query(`COMMENT ON ${kind.toUpperCase()} ${prefix}${name} IS '${mark}'`);
  }
}

/** Returns the tables of a sync, with the columns that this release does not know. */
function viewedTables({ tables }: Catalog): Map<TableName, string[]> {
  const found = tableNames.flatMap((table): [TableName, string[]][] => {
    const columns = tables.get(table);
    const known = new Set([...sinkColumns(table).map(({ name }) => name), FROM_BLOCK]);
    if (columns === undefined || [...known].some((name) => !columns.has(name))) {
      return []; // There is none, it belongs to someone else, or it is the table of another release.
    }
    return [[table, [...columns.keys()].filter((name) => !known.has(name))]];
  });
  return new Map(found);
}

/** Returns the comment of views and functions, which changes with their definitions. */
function markOf(parts: SinkViews["parts"]): string {
  const text = parts.map(({ create }) => create).join(";\n");
  return `created by tradewire ${createHash("sha256").update(text).digest("hex")}`;
}

/** Drops views and functions of a sync, all at once, as they use each other. */
async function dropViews(client: PoolClient, within: string, ours: readonly Found[]): Promise<void> {
  const list = (kind: Found["kind"]) =>
    ours
      .filter((found) => found.kind === kind)
      .map(({ name }) => `${within}.${identifier(name)}`)
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
