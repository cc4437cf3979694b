import { closestName } from "../base/errors/error-text.js";
import { RequestError } from "../base/errors/index.js";

/**
 * Checks names of columns by themselves.
 *
 * @throws {@link RequestError} if a column is named twice
 */
export function checkColumnNames(columns: readonly string[]): void {
  if (new Set(columns).size < columns.length) {
    throw new RequestError(`--columns ${columns.join(",")} contains a duplicate column name`, {
      advice: "Name each column once, separated by commas.",
    });
  }
}

/**
 * Finds the columns that names mean: case and underscores do not matter. Unknown names stay.
 *
 * @throws {@link RequestError} if a column is named twice
 */
export function namedColumns(names: readonly string[], columns: readonly string[]): readonly string[] {
  const plain = (name: string) => name.replaceAll("_", "").toLowerCase();
  const found = names.map((name) =>
    columns.includes(name) ? name : (columns.find((each) => plain(each) === plain(name)) ?? name),
  );
  checkColumnNames(found);
  return found;
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
