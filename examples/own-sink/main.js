// Brings trades and orders into files of JSON lines, and only what is new when it is started again:
// node main.js GRPC_URL FOLDER
import { createClient } from "tradewire";
import { syncHistory } from "tradewire/sync";
import { jsonLinesSink } from "./sink.js";

const [url = "http://127.0.0.1:3007", folder = "history"] = process.argv.slice(2);
const onEvent = (event) => {
  if (event.kind === "waiting") {
    console.error(`${event.error.summary}; waiting`);
  }
  if (event.kind === "loaded") {
    const { table, fromBlock, toBlock, rows } = event.entry;
    console.log(`${table} ${fromBlock}-${toBlock}: ${rows} rows`);
  }
};
try {
  const client = createClient({ grpc: { url } });
  try {
    const { units, failed } = await syncHistory(client, {
      sink: jsonLinesSink(folder),
      tables: ["trades", "orders"],
      hooks: { onEvent },
    });
    console.log(`${units} units loaded`);
    for (const { unit, error } of failed) {
      console.error(`${unit.table} ${unit.fromBlock}-${unit.toBlock}: ${error.message}`);
      process.exitCode = 1;
    }
  } finally {
    await client.close();
  }
} catch (reason) {
  console.error(reason instanceof Error ? reason.message : reason); // What went wrong, and then what to do.
  process.exitCode = 1;
}
