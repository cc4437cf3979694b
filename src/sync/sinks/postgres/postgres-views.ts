import { createHash } from "node:crypto";
import type { PoolClient } from "pg";
import { Code } from "../../../base/errors/code.js";
import { quoted } from "../../../base/errors/error-text.js";
import { SinkError } from "../../../base/errors/index.js";
import { hasErrorCode } from "../../../base/errors/node-errors.js";
import type { TrustedSchema } from "../../../base/postgres.js";
import { type TableName, tableNames } from "../../../data/schema/table-names.js";
import { identifier } from "../../sink-columns.js";
import { type SinkView, sinkViews, viewedTables } from "../../views/sink-views.js";
import { assertTrusted, readCatalog } from "./postgres-catalog.js";
import { lockSchema, runAll } from "./postgres-tables.js";

/** The comment of each view and function that a sync has created, and may replace: with the digest of its definition. */
const OURS = /^created by tradewire [0-9a-f]{64}$/u;

/** The longest wait for readers of a view that is replaced, in milliseconds. Other readers wait behind it. */
const LOCK_MS = 2000;

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
 * SQLSTATEs of definitions that cannot be replaced: other columns, parameters or results, a view in place of a function, or two functions
 * of one name.
 */
const NOT_REPLACEABLE = ["42P16", "42P13", "42809", "42725"];

/**
 * Creates the views and functions over the tables of a schema, and replaces those whose definitions have changed, with their privileges.
 * If they are up to date, nothing is locked.
 *
 * @throws {@link SinkError} if something of someone else has the name of one, or uses one that must be dropped, or if another role owns one
 */
export async function createViews(
  client: PoolClient,
  schema: TrustedSchema & { readonly schema: string; readonly number: string; readonly within: string },
): Promise<void> {
  await lockSchema(client, schema.schema);
  const { number, within } = schema;
  const prefix = `${within}.`;
  const { tables } = await readCatalog(client, number);
  const columns = new Map([...tables].map(([table, each]) => [table, [...each.keys()]]));
  const { before, parts } = sinkViews({ dialect: "postgres", prefix, tables: viewedTables(columns) });
  const names = new Set(parts.map(({ name }) => name));
  await assertTrusted(client, number, { ...schema, names: [...names] });
  const { rows } = await client.query<Found>(FOUND, [number, schema.trustedOwners]);
  const isOurs = ({ comment, trusted }: Found) => trusted && OURS.test(comment ?? "");
  const taken = rows.find((found) => names.has(found.name) && !isOurs(found));
  if (taken !== undefined) {
    throw new SinkError(`${quoted(taken.name)} exists but was not created by tradewire sync`, {
      code: Code.FailedPrecondition,
      advice: 'Rename it, use another schema, or sync without views (views: "none", --views none).',
    });
  }
  const ours = rows.filter(isOurs);
  const old = ours.filter(({ name }) => !names.has(name));
  const marks = new Map(ours.map(({ name, comment }) => [name, comment]));
  const changed = parts.filter((part) => marks.get(part.name) !== markOf(part));
  if (changed.length === 0 && old.length === 0) {
    return;
  }
  await client.query(`SET LOCAL lock_timeout TO ${LOCK_MS}`);
  await runAll(
    client,
    before.map(({ create }) => create),
  );
  await client.query("SAVEPOINT replacing");
  try {
    await createParts(client, prefix, changed);
    await dropViews(client, within, old);
  } catch (reason) {
    if (!NOT_REPLACEABLE.some((code) => hasErrorCode(reason, code))) {
      throw reason;
    }
    await client.query("ROLLBACK TO SAVEPOINT replacing");
    await dropViews(client, within, ours);
    await createParts(client, prefix, parts);
  }
}

/**
 * Returns the statements that create the views and functions that a sync would create over tables. A sync then leaves them as they are.
 *
 * @param schema the schema of the tables
 */
export function viewsScript(tables: readonly TableName[], schema = "public"): string[] {
  const prefix = `${identifier(schema)}.`;
  const viewed = new Map(tableNames.filter((table) => tables.includes(table)).map((table) => [table, []]));
  const { before, parts } = sinkViews({ dialect: "postgres", prefix, tables: viewed });
  return [...before.map(({ create }) => create), ...parts.flatMap((part) => partSql(prefix, part))];
}

async function createParts(client: PoolClient, prefix: string, parts: readonly SinkView[]): Promise<void> {
  await runAll(
    client,
    parts.flatMap((part) => partSql(prefix, part)),
  );
}

/** Returns the statements that create a view or function, and mark it as that of a sync. */
function partSql(prefix: string, part: SinkView): string[] {
  const kind = part.kind === "view" ? "VIEW" : "FUNCTION";
  return [part.create, `COMMENT ON ${kind} ${prefix}${part.name} IS '${markOf(part)}'`];
}

/** Returns the comment of a view or function, which changes with its definition. */
function markOf({ create }: SinkView): string {
  return `created by tradewire ${createHash("sha256").update(create).digest("hex")}`;
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
