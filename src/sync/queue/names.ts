import { createHash } from "node:crypto";

/** The queue of units, and that of those which were tried too often. */
export const UNITS = "units";
export const DEAD = "units-dead";

/** pg-boss puts its schema into statements as it is, and takes no longer one. */
const MAX_SCHEMA = 50;

/**
 * Name the schema of a queue: that of the sink with `_queue` behind it or, where pg-boss could not take that, its hash.
 *
 * @param schema the sink's schema, as it is
 * @returns a name of lower-case letters, digits and `_`
 *
 * @example
 * queueSchema("mainnet"); // "mainnet_queue"
 */
export function queueSchema(schema: string): string {
  const plain = `${schema}_queue`;
  const hash = createHash("sha256").update(schema).digest("hex").slice(0, 24);
  return /^[a-z_][a-z0-9_]*$/u.test(plain) && plain.length <= MAX_SCHEMA ? plain : `tradewire_${hash}_queue`;
}
