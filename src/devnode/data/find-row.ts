import { Code, ConnectError } from "@connectrpc/connect";
import type { PGlite } from "@electric-sql/pglite";
import type { Row } from "./row.js";

/**
 * Find one row.
 *
 * @param pg the database
 * @param from what follows `FROM` in SQL; `$1` and so on stand for the parameters
 * @param parameters the values of the parameters
 * @param what names the row in the error, such as `market c3d6…`
 * @returns the first row
 * @throws ConnectError with `NotFound` if there is none
 */
export async function findRow(pg: PGlite, from: string, parameters: readonly unknown[], what: string): Promise<Row> {
  const { rows } = await pg.query<Row>(`SELECT * FROM ${from}`, [...parameters]);
  if (rows[0] === undefined) {
    throw new ConnectError(`there is no ${what}`, Code.NotFound);
  }
  return rows[0];
}
