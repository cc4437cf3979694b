import { RequestError } from "../errors/index.js";
import { nearest } from "../errors/nearest.js";
import { quoted } from "../errors/quoted.js";
import { isTableName, type TableName, tableNames } from "../schema/tables.js";

/**
 * Parse the name of a table of the command line.
 *
 * @param text the name that archives carry, or the enum's
 * @returns the name that archives carry
 * @throws {@link RequestError} if there is no such table; it names the nearest
 */
export function tableName(text: string): TableName {
  const name = text.replace(/^TABLE_/, "").toLowerCase();
  if (isTableName(name)) {
    return name;
  }
  const near = nearest(name, tableNames);
  throw new RequestError(`--table ${quoted(text)} is not a table that can be exported`, {
    advice: `${near === undefined ? "" : `Did you mean ${near}? `}There are: ${tableNames.join(", ")}.`,
  });
}
