/** A command line that users can copy, and its purpose. */
type Example = readonly [line: string, what: string];

/** The examples at the end of a command's help, by the full name of the command. */
export const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  tradewire: [
    ["tradewire devnode", "A node of one's own, on the ports that all commands ask by default"],
    ["tradewire export --table trades --from-block 1 --to-block 3000", "One table as an archive"],
    ["tradewire sync --to duckdb:history.duckdb --follow", "All tables in a database, kept up to date"],
    ["tradewire params --grpc-url https://node.example:3007", "The parameters of a node elsewhere"],
    ["source <(tradewire completion bash)", "Complete commands and options with Tab"],
  ],
  "tradewire export": [
    ["tradewire export --table trades --from-block 1 --to-block 3000", "Save an archive to this folder"],
    [
      "tradewire export --table orders --from-block 10 --to-block 2500 --snap --format jsonl | jq .price",
      "Print rows of the segments around a range",
    ],
    [
      "tradewire export --table trades --from-block 1 --to-block 300000 --parallel 4 --resume parts/",
      "Fetch a long range in parts, and go on after an interruption",
    ],
  ],
  "tradewire segments": [
    ["tradewire segments", "What can be exported"],
    ["tradewire segments --json | jq .spans", "The contiguous ranges, for a program"],
  ],
  "tradewire follow": [
    [
      "tradewire follow --table trades --cursor-file trades.cursor",
      "All trades, and the new ones; goes on when run again",
    ],
    ["tradewire follow --table blocks --from-block 1 --to-block 3000 --limit 10", "The first ten blocks"],
  ],
  "tradewire sync": [
    ["tradewire sync --to duckdb:history.duckdb", "All tables into a DuckDB file"],
    ["tradewire sync --to parquet:history/ --table trades --table orders", "Two tables into a folder of Parquet files"],
    ["tradewire sync --to postgres://me@db.example/history --follow", "Into PostgreSQL, and on with new segments"],
    ["tradewire sync --to duckdb:history.duckdb --dry-run", "What would be fetched"],
  ],
  "tradewire sync status": [["tradewire sync status --to duckdb:history.duckdb", "What is there, and what is missing"]],
  "tradewire sync verify": [
    ["tradewire sync verify --to duckdb:history.duckdb", "Compare what is there with the node"],
  ],
  "tradewire sync compact": [
    ["tradewire sync compact --to parquet:history", "Join small files into files of up to a million rows"],
  ],
  "tradewire sync worker": [
    ["tradewire sync worker --to postgres://me@db.example/history", "Load what `tradewire sync --queue` has planned"],
  ],
  "tradewire schema": [
    ["tradewire schema --table trades", "The columns of a table"],
    ["tradewire schema --dialect postgres > tables.sql", "SQL that makes all tables"],
    ["tradewire schema --dialect postgres --from 115 --to 116", "SQL that brings tables to a newer version"],
  ],
  "tradewire rows": [
    ["tradewire rows chain-1-trades-1-3000.zip --format table", "Look at an archive"],
    ["tradewire rows chain-1-trades-1-3000.zip --format csv --columns id,price > prices.csv", "Two columns as CSV"],
  ],
  "tradewire inspect": [
    ["tradewire inspect chain-1-trades-1-3000.zip", "What is in an archive, and whether it is sound"],
  ],
  "tradewire merge": [
    ["tradewire merge chain-1-trades-1-1000.zip chain-1-trades-1001-2000.zip -o merged/", "Make two archives one"],
  ],
  "tradewire assemble": [
    ["tradewire assemble capture.json --out archives/", "Make the archive out of what grpcurl printed"],
  ],
  "tradewire params": [
    ["tradewire params 'spam.pow.*'", "The parameters of a pattern"],
    ["tradewire params snapshot.interval.length --json", "One parameter, for a program"],
  ],
  "tradewire stop-orders": [
    ["tradewire stop-orders --status pending --limit 20", "The newest that wait for their trigger"],
    ["tradewire stop-orders --from 2024-01-01 --to 2024-02-01 --format csv > orders.csv", "Those of a month as CSV"],
  ],
  "tradewire stop-order": [["tradewire stop-order ID", "One stop order with all its fields"]],
  "tradewire ledger": [
    ["tradewire ledger --party PUBLIC_KEY --from 2024-01-01", "Save a party's ledger as CSV"],
    ["tradewire ledger --party PUBLIC_KEY --format table --limit 20", "Look at it"],
  ],
  "tradewire events": [
    ["tradewire events --type order --type trade --party PUBLIC_KEY", "Orders and trades of a party as they happen"],
    ["tradewire events --type transactionResult --format jsonl --limit 10", "Ten results, a JSON object a line"],
  ],
  "tradewire keys new": [["tradewire keys new trading.key", "Make a key"]],
  "tradewire keys show": [["tradewire keys show trading.key", "The public key, which is no secret"]],
  "tradewire sign": [["tradewire sign order.json --key-file trading.key > signed.json", "Sign now, submit later"]],
  "tradewire submit": [
    ["tradewire submit order.json --key-file trading.key --check", "Have the node check it first"],
    ["tradewire submit order.json --key-file trading.key --wait", "Submit it, and wait for what becomes of it"],
  ],
  "tradewire outcome": [["tradewire outcome HASH --wait 2m", "What became of a transaction that was sent earlier"]],
  "tradewire verify": [["tradewire verify signed.json", "Check what `tradewire sign` printed"]],
  "tradewire call": [
    ["tradewire call ListStopOrders --set filter.statuses=PENDING --all", "All pages, a JSON object a line"],
    ["tradewire call ObserveTrades --set marketIds=ID", "A stream, as it comes"],
    ["tradewire call CoreService/GetVegaTime", "A method whose name alone is ambiguous"],
  ],
  "tradewire methods": [["tradewire methods 'list*'", "The methods that list something"]],
  "tradewire describe": [
    ["tradewire describe ListStopOrders", "A method with its fields"],
    ["tradewire describe Order.Status", "The values of an enum"],
  ],
  "tradewire devnode": [
    ["tradewire devnode --data-dir node/ --admin", "A node that keeps its blocks, and takes the commands below"],
    ["tradewire devnode --profile deployed --rate-limit --activity 5", "One that behaves as deployed nodes do"],
    ["tradewire devnode make-block", "Make a block now"],
  ],
  "tradewire devnode make-block": [["tradewire devnode make-block", "Make a block now"]],
  "tradewire devnode set-time": [["tradewire devnode set-time 2030-01-01T00:00:00Z", "Let time pass"]],
  "tradewire devnode snapshot": [["tradewire devnode snapshot", "Keep what the node knows"]],
  "tradewire devnode revert": [["tradewire devnode revert ID", "Go back to what `snapshot` kept"]],
  "tradewire devnode reset": [["tradewire devnode reset", "Begin again"]],
  "tradewire devnode fail-next": [
    ["tradewire devnode fail-next ExportNetworkHistory cut --after-bytes 1000", "Cut the next export short"],
    ["tradewire devnode fail-next ListNetworkParameters UNAVAILABLE --times 2", "Fail two calls, and see retries"],
  ],
  "tradewire demo": [["tradewire demo", "See an export over gRPC and over REST, with nothing else needed"]],
  "tradewire completion": [
    ["source <(tradewire completion bash)", "For this shell; in ~/.bashrc, for all"],
    [
      "tradewire completion zsh > /usr/local/share/zsh/site-functions/_tradewire",
      "For zsh, where its fpath has that folder",
    ],
    ["tradewire completion fish > ~/.config/fish/completions/tradewire.fish", "For fish"],
  ],
  "tradewire config": [["tradewire config", "Where each value of the configuration comes from"]],
};
