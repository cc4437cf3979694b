/** A command line that users can copy, and its purpose. */
type Example = readonly [line: string, what: string];

/** The examples at the end of a command's help, by the full name of the command. */
export const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  tradewire: [
    ["tradewire devnode", "Start a local node on the default ports"],
    ["tradewire export --table trades --from-block 1 --to-block 3000", "Export one table as an archive"],
    ["tradewire sync --to duckdb:history.duckdb --follow", "Load all tables into a database and keep them up to date"],
    ["tradewire params --grpc-url https://node.example:3007", "List the parameters of a remote node"],
    ["source <(tradewire completion bash)", "Complete commands and options with Tab"],
  ],
  "tradewire export": [
    ["tradewire export --table trades --from-block 1 --to-block 3000", "Save an archive to the current folder"],
    [
      "tradewire export --table orders --blocks 500:1.5k --columns id,price,size -o csv",
      "Print some columns of the rows of some blocks",
    ],
    [
      "tradewire export --table trades --from-block 1 --to-block 90000 --resume parts/",
      "Fetch a long range in parts; run it again to resume after an interruption",
    ],
  ],
  "tradewire explain": [
    ["tradewire explain TW_UNREACHABLE", "Explain an error"],
    ["tradewire explain", "List all codes"],
  ],
  "tradewire doctor": [
    ["tradewire doctor --grpc-url https://node.example:3007", "Find out why a node does not answer"],
    ["tradewire doctor --json | jq '.checks[] | select(.state != \"ok\")'", "Print what needs attention"],
  ],
  "tradewire status": [
    ["tradewire status", "Show whether the node answers"],
    [
      "tradewire status --grpc-url https://a.example:3007 --grpc-url https://b.example:3007",
      "Compare two nodes of a network",
    ],
    ["tradewire status --watch --interval 5s", "Watch the height of the node"],
  ],
  "tradewire markets": [
    ["tradewire markets", "List all open markets"],
    ["tradewire markets M0 --watch", "Watch the prices of a market"],
  ],
  "tradewire orders": [
    ["tradewire orders --party PUBLIC_KEY --live", "List the live orders of a party"],
    ["tradewire orders --party PUBLIC_KEY --live --watch", "Watch the live orders of a party"],
    ["tradewire orders --party PUBLIC_KEY --follow | jq .status", "Print each change of an order as a line of JSON"],
    ["tradewire orders --market M0 --status filled --limit 20", "List the last filled orders of a market"],
    ["tradewire orders --columns id,side,price,remaining -o csv > orders.csv", "Save chosen columns as CSV"],
  ],
  "tradewire trades": [
    ["tradewire trades --market M0 --limit 20", "List the last trades of a market"],
    ["tradewire trades --since 2024-01-31 --json | jq '.trades[].price'", "Print the prices of a time"],
  ],
  "tradewire positions": [["tradewire positions --party PUBLIC_KEY", "List the positions of a party"]],
  "tradewire accounts": [["tradewire accounts --party PUBLIC_KEY", "List the balances of a party"]],
  "tradewire segments": [
    ["tradewire segments", "List what can be exported"],
    ["tradewire segments --json | jq .spans", "Print the contiguous ranges as JSON"],
  ],
  "tradewire follow": [
    [
      "tradewire follow --table trades --cursor-file trades.cursor",
      "Print all trades, then new ones; run it again to resume",
    ],
    ["tradewire follow --table blocks --from-block 1 --to-block 3000 --limit 10", "Print the first ten blocks"],
  ],
  "tradewire sync": [
    ["tradewire sync --to duckdb:history.duckdb", "Load all tables into a DuckDB file"],
    ["tradewire sync --to parquet:history/ --table trades,orders", "Load two tables into a folder of Parquet files"],
    [
      "tradewire sync --to postgres://me@db.example/history --follow",
      "Load all tables into PostgreSQL, then follow new segments",
    ],
    ["tradewire sync --to duckdb:history.duckdb --dry-run", "Show what would be fetched"],
  ],
  "tradewire sync status": [
    ["tradewire sync status --to duckdb:history.duckdb", "Show what is loaded and what is missing"],
  ],
  "tradewire sync verify": [
    ["tradewire sync verify --to duckdb:history.duckdb", "Compare the row counts with the ledger"],
  ],
  "tradewire sync compact": [
    ["tradewire sync compact --to parquet:history", "Merge small files into files of up to a million rows"],
  ],
  "tradewire sync views": [
    ["tradewire sync views --to duckdb:history.duckdb", "Create the views of a file that was synced without them"],
  ],
  "tradewire sync worker": [
    [
      "tradewire sync worker --to postgres://me@db.example/history",
      "Load the units that `tradewire sync --queue` plans",
    ],
  ],
  "tradewire query": [
    [
      "tradewire query \"SELECT start, open, high, low, close, volume FROM candles_1h WHERE market = 'M0' ORDER BY start LIMIT 24\"",
      "Print candles of a market from the node's history",
    ],
    [
      'tradewire query --from duckdb:history.duckdb "SELECT * FROM orders_at(150)" --output csv > orders.csv',
      "Save the live orders at a block, from a synced database",
    ],
    [
      'tradewire query --from-archives archives/ "FROM trades_v" --output parquet --to trades.parquet',
      "Save the trades of exported archives as a Parquet file",
    ],
    ["tradewire query --from parquet:history/", "Write statements at a prompt"],
  ],
  "tradewire schema": [
    ["tradewire schema --table trades", "Print the columns of a table"],
    ["tradewire schema --dialect postgres > tables.sql", "Print SQL that creates all tables"],
    [
      "tradewire schema --dialect postgres --from-schema-version 115",
      "Print SQL that migrates tables to a newer version",
    ],
  ],
  "tradewire rows": [
    ["tradewire rows chain-1-trades-1-3000.zip -o table", "Show an archive as a table"],
    ["tradewire rows chain-1-trades-1-3000.zip -o csv --columns id,price > a.csv", "Save two columns as CSV"],
  ],
  "tradewire inspect": [
    ["tradewire inspect chain-1-trades-1-3000.zip", "Show the contents of an archive, and verify it"],
  ],
  "tradewire merge": [["tradewire merge trades-1-1000.zip trades-1001-2000.zip --to merged/", "Merge two archives"]],
  "tradewire assemble": [
    ["tradewire assemble capture.json --to archives/", "Build the archive from the output of grpcurl"],
  ],
  "tradewire params": [
    ["tradewire params 'spam.pow.*'", "List the parameters that match a pattern"],
    ["tradewire params snapshot.interval.length --json", "Print one parameter as JSON"],
  ],
  "tradewire stop-orders": [
    ["tradewire stop-orders --status pending --limit 20", "List the newest stop orders that wait for their trigger"],
    ["tradewire stop-orders ID --wide", "Show a stop order with all its fields"],
    [
      "tradewire stop-orders --since 2024-01-01 --until 2024-02-01 -o csv > orders.csv",
      "Save the stop orders of a month as CSV",
    ],
  ],
  "tradewire ledger": [
    ["tradewire ledger --party PUBLIC_KEY --since 2024-01-01", "Save a party's ledger as CSV"],
    ["tradewire ledger --party PUBLIC_KEY -o table --limit 20", "Show the first rows as a table"],
  ],
  "tradewire events": [
    ["tradewire events --type order,trade --party PUBLIC_KEY", "Print orders and trades of a party as they happen"],
    ["tradewire events --type transactionResult -o jsonl --limit 10", "Print ten results, one JSON object per line"],
  ],
  "tradewire keys new": [["tradewire keys new trading.key", "Create a key"]],
  "tradewire keys show": [["tradewire keys show trading.key", "Print the public key, which is not secret"]],
  "tradewire sign": [["tradewire sign order.json --key-file trading.key > signed.json", "Sign now, submit later"]],
  "tradewire submit": [
    [
      "tradewire submit order.json --key-file trading.key --check",
      "Ask the node to check a command before you submit it",
    ],
    [
      "tradewire submit order.json --key-file my.key --journal my.log --intent buy-17",
      "Submit a command that is executed at most once, even if you run this again",
    ],
    ["tradewire submit order.json --key-file trading.key --wait", "Submit a command, and wait for its outcome"],
  ],
  "tradewire signer": [
    [
      "tradewire signer --policy policy.json --socket signer.sock --key-file my.key",
      "Sign for other programs within a policy",
    ],
    ["tradewire submit order.json --signer signer.sock", "Sign through it, in another terminal"],
  ],
  "tradewire signer mode": [
    ["tradewire signer mode signer.sock reducing", "From now on, sign only commands that reduce exposure"],
  ],
  "tradewire signer kill": [["tradewire signer kill signer.sock", "Stop all programs, and cancel all orders"]],
  "tradewire outcome": [
    ["tradewire outcome HASH --wait 2m", "Find the outcome of a transaction that was submitted earlier"],
  ],
  "tradewire verify": [["tradewire verify signed.json", "Check the output of `tradewire sign`"]],
  "tradewire call": [
    [
      "tradewire call ListStopOrders --set filter.statuses=PENDING --all",
      "Print the records of all pages, one JSON object per line",
    ],
    ["tradewire call ObserveTrades --set marketIds=ID", "Print the messages of a stream as they arrive"],
    ["tradewire call CoreService/GetVegaTime", "Call a method whose name alone is ambiguous"],
  ],
  "tradewire methods": [["tradewire methods 'list*'", "List the methods whose names start with List"]],
  "tradewire describe": [
    ["tradewire describe ListStopOrders", "Show a method with its fields"],
    ["tradewire describe Order.Status", "Show the values of an enum"],
  ],
  "tradewire devnode": [
    ["tradewire devnode --data-dir node/ --admin", "Start a node that keeps its blocks and accepts the commands below"],
    ["tradewire devnode --profile deployed --rate-limit --activity 5", "Start a node that behaves like deployed nodes"],
    ["tradewire devnode make-block", "Make a block now"],
  ],
  "tradewire devnode make-block": [["tradewire devnode make-block", "Make a block now"]],
  "tradewire devnode set-time": [["tradewire devnode set-time 2030-01-01T00:00:00Z", "Advance the block time"]],
  "tradewire devnode snapshot": [["tradewire devnode snapshot", "Save the state of the node"]],
  "tradewire devnode revert": [["tradewire devnode revert ID", "Restore a snapshot"]],
  "tradewire devnode reset": [["tradewire devnode reset", "Restore the initial state"]],
  "tradewire devnode fail-next": [
    ["tradewire devnode fail-next ExportNetworkHistory cut --after-bytes 1000", "Truncate the next export"],
    ["tradewire devnode fail-next ListNetworkParameters UNAVAILABLE --times 2", "Make two calls fail, to see retries"],
  ],
  "tradewire demo": [["tradewire demo", "Export over gRPC and over REST, without any other setup"]],
  "tradewire completion": [
    ["source <(tradewire completion bash)", "For the current bash; add it to ~/.bashrc for all"],
    [
      "tradewire completion zsh > /usr/local/share/zsh/site-functions/_tradewire",
      "For zsh, if its fpath includes that folder",
    ],
    ["tradewire completion fish > ~/.config/fish/completions/tradewire.fish", "For fish"],
  ],
  "tradewire config": [["tradewire config", "Show where each value of the configuration comes from"]],
};
