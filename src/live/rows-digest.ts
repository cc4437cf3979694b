import { createHash } from "node:crypto";
import type { CsvRow } from "../csv/format.js";

/** How many characters of SHA-256 in base64url are kept: 132 bits. */
const LENGTH = 22;

/** A digest of rows, which depends on the rows alone and not on how they were split. */
export interface RowsDigest {
  /**
   * Add rows behind those before.
   *
   * @returns how many characters they have, about
   */
  add(rows: readonly CsvRow[]): number;
  /**
   * Make a function that gives the digest with some more rows, whatever is added meanwhile.
   *
   * @returns the function, which takes the rows
   */
  fixed(): (rows: readonly CsvRow[]) => string;
}

/**
 * Start the digest of a segment's rows.
 *
 * @param columns their columns
 * @returns the digest, of no rows yet
 */
export function createRowsDigest(columns: readonly string[]): RowsDigest {
  const hash = createHash("sha256").update(textOf([columns]));
  return {
    add(rows) {
      const text = textOf(rows);
      hash.update(text);
      return text.length;
    },
    fixed() {
      const before = hash.copy();
      return (rows) => before.copy().update(textOf(rows)).digest("base64url").slice(0, LENGTH);
    },
  };
}

/**
 * Tell whether a text has the form of a digest.
 *
 * @param text the text
 * @returns whether it has
 */
export function isDigest(text: string): boolean {
  return text.length === LENGTH && /^[A-Za-z0-9_-]+$/.test(text);
}

function textOf(rows: readonly (readonly (string | null)[])[]): string {
  return rows.length === 0 ? "" : `${JSON.stringify(rows).slice(1, -1)},`;
}
