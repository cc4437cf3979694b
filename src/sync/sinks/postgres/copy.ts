import type { PoolClient } from "pg";
import type { FetchUnit, UnitCsv } from "../../sink.js";
import { identifier } from "../columns.js";
import { FetchFailed } from "./errors.js";
import type { Packages } from "./packages.js";

/** Bytes of CSV that wait for the connection, at most. */
const COPY_BUFFER = 1024 * 1024;

/** What has ended the copying: an error of the database, or of the one who sends. */
interface Broken {
  readonly reason: unknown;
}

/**
 * Ask for a unit.
 *
 * @param fetch asks the node for it
 * @returns the CSV file
 * @throws {@link FetchFailed} with what `fetch` throws
 */
export async function asked(fetch: FetchUnit): Promise<UnitCsv> {
  try {
    return await fetch();
  } catch (reason) {
    throw new FetchFailed(reason);
  }
}

/**
 * Copy a CSV file, with its header row, into a table. The server reads the file's own bytes.
 *
 * @param client in a transaction, which is to be rolled back after an error
 * @param copyFrom of `pg-copy-streams`
 * @param table the table
 * @param columns the names of the table's columns, in the order of the file's
 * @param content the file
 * @returns how many rows the server counted
 * @throws {@link FetchFailed} with what the content throws; errors of PostgreSQL as `pg` gives them
 */
export async function copyCsv(
  client: PoolClient,
  copyFrom: Packages["copyFrom"],
  table: string,
  columns: readonly string[],
  content: AsyncIterable<Uint8Array>,
): Promise<bigint> {
  const list = columns.map(identifier).join(", ");
  const sql = `COPY ${table} (${list}) FROM STDIN (FORMAT csv, HEADER true, ENCODING 'UTF8')`;
  const stream = client.query(copyFrom(sql, { highWaterMark: COPY_BUFFER }));
  let failed: Broken | undefined;
  let wake: () => void = () => undefined;
  const when = (event: "drain" | "finish") =>
    new Promise<void>((resolve, reject) => {
      wake = () => (failed === undefined ? undefined : reject(failed.reason));
      stream.once(event, resolve);
      wake();
    });
  stream.on("error", (reason) => {
    failed ??= { reason };
    wake();
  });

  const chunks = content[Symbol.asyncIterator]();
  // A server that is gone is noticed while the node is waited for.
  const next = () =>
    new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
      wake = () => (failed === undefined ? undefined : reject(failed.reason));
      wake();
      chunks.next().then(resolve, (reason: unknown) => {
        failed ??= { reason: new FetchFailed(reason) };
        reject(failed.reason);
      });
    });
  try {
    for (let step = await next(); step.done !== true; step = await next()) {
      if (!stream.write(step.value)) {
        await when("drain");
      }
    }
    const finished = when("finish");
    stream.end();
    await finished;
  } catch (reason) {
    stream.destroy(new Error("the unit did not arrive whole")); // It sends CopyFail.
    chunks.return?.().catch(() => undefined);
    throw reason;
  }
  return BigInt(stream.rowCount);
}
