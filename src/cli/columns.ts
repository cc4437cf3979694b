import { closestName } from "../base/errors/error-text.js";
import { RequestError } from "../base/errors/index.js";
import { parsed } from "./declarations.js";
import { parseList } from "./parsers.js";

/** The option that chooses the columns to print. */
export const columnsOption = parsed("<names>", "columns to print, in this order, separated by commas", parseList);

/**
 * Checks names of columns by themselves.
 *
 * @throws {@link RequestError} if a column is named twice or a name is empty
 */
export function checkColumnNames(columns: readonly string[]): void {
  if (columns.includes("") || new Set(columns).size < columns.length) {
    throw new RequestError(`--columns ${columns.join(",")} contains a duplicate or empty column name`, {
      advice: "Name each column once, separated by commas.",
    });
  }
}

/** Creates the error about columns that do not exist. */
export function unknownColumns(
  unknown: readonly string[],
  columns: readonly string[],
  where: string,
  valid: string = columns.join(", "),
): RequestError {
  const near = unknown.flatMap((name) => closestName(name, columns) ?? []);
  const suggestion = near.length === 0 ? "" : `Did you mean ${near.join(", ")}? `;
  return new RequestError(`unknown column ${unknown.map((name) => JSON.stringify(name)).join(", ")} ${where}`, {
    advice: `${suggestion}Valid columns: ${valid}.`,
  });
}
