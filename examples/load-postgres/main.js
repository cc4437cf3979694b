// @ts-check
// Loads the trades of network history into PostgreSQL, each once, and asks for the busiest markets:
//   TRADEWIRE_GRPC_URL=https://node.example:3007 DATABASE_URL=postgres://me@db.example/history node main.js
// Stopped or killed, it loads what is missing when it is started again.
import pg from "pg";
import { CanceledError, createClient, loadConfig } from "tradewire";
import { postgresSink, syncHistory } from "tradewire/sync";

const stop = new AbortController();
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) {
  process.once(signal, () => stop.abort());
}

/** @param {string} url */
async function load(url) {
  const client = createClient(loadConfig().config);
  try {
    const { rows, units, failed } = await syncHistory(client, {
      sink: postgresSink(url),
      tables: ["trades"],
      signal: stop.signal,
    });
    console.log(`${rows} rows of ${units} segments loaded`);
    for (const { unit, error } of failed) {
      console.error(`${unit.table} ${unit.fromBlock}-${unit.toBlock}: ${error.message}`);
      process.exitCode = 1;
    }
  } finally {
    await client.close();
  }
}

/** @param {string} url */
async function printBusiestMarkets(url) {
  const database = new pg.Client(url);
  await database.connect();
  try {
    // Prices are whole numbers, in units of the market's last decimal.
    const { rows } = await database.query(`
      SELECT encode(market_id, 'hex') AS market, count(*) AS trades, min(price) AS low, max(price) AS high
      FROM trades GROUP BY market_id ORDER BY count(*) DESC, market_id LIMIT 3`);
    for (const { market, trades, low, high } of rows) {
      console.log(`${market}: ${trades} trades from ${low} to ${high}`);
    }
  } finally {
    await database.end();
  }
}

try {
  const { DATABASE_URL } = process.env;
  if (DATABASE_URL === undefined) {
    throw new Error(
      "DATABASE_URL is not set\nSet it to the URL of a database, such as postgres://me@db.example/history.",
    );
  }
  await load(DATABASE_URL);
  await printBusiestMarkets(DATABASE_URL);
} catch (reason) {
  if (reason instanceof CanceledError) {
    console.error("stopped\nStart it again, and it goes on from here.");
    process.exitCode = 130;
  } else {
    console.error(reason instanceof Error ? reason.message : reason); // What went wrong, and then what to do.
    process.exitCode = 1;
  }
}
