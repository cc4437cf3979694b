interface ErrorExplanation {
  /** The class of the errors that have the code. */
  readonly class: string;
  /** The meaning, in a few words. */
  readonly title: string;
  /** When the error occurs, and why. */
  readonly cause: string;
  /** What to do. */
  readonly advice: string;
  /** The first line of such an error. */
  readonly example: string;
}

/**
 * The code of every error, with its explanation. `tradewire explain` prints the explanations, and docs/errors.md lists them. Only
 * its type is imported by the errors themselves, so that a program does not load the texts.
 */
export const ERROR_CODES = {
  TW_INVALID_ARGUMENT: {
    class: "RequestError",
    title: "An option, a field of the request or another value is invalid",
    cause:
      "A value has the wrong type or is out of range, a name is misspelled, or two options contradict each other. Nothing was sent.",
    advice:
      "Correct the value that the first line names. The message says what is valid, and suggests the nearest name. Use `bigint` for 64-bit numbers (`10n`), `Uint8Array` for bytes, and `{ case, value }` for a oneof.",
    example: "limit must be a whole number from 1 (got 0)",
  },
  TW_USAGE: {
    class: "RequestError",
    title: "The command line is invalid",
    cause: "A command or an option is unknown, an argument is missing, or options cannot be combined.",
    advice: "Use the suggestion in the second line, or see `tradewire COMMAND --help`.",
    example: "unknown option '--from-blok'",
  },
  TW_CONFIGURATION: {
    class: "RequestError",
    title: "The configuration is invalid",
    cause:
      "An option of the client, an environment variable or a key of the configuration file is invalid or contradicts another one, a certificate or key file does not contain PEM, or a configuration file that you did not name would determine where a secret is sent. The first line lists each invalid value and its source.",
    advice:
      "Correct the values. `tradewire config` prints the effective values and their sources, and configuration.md in the documentation lists all keys. Check certificates with `openssl x509 -in FILE -noout -subject -dates`.",
    example:
      "the configuration is invalid: timeouts.callMs must be a whole number of milliseconds from 1 to 2147483647 (got 0)",
  },
  TW_MISSING_PACKAGE: {
    class: "RequestError",
    title: "An optional package is missing, or has the wrong version",
    cause:
      "DuckDB, PostgreSQL, the queue and the metrics need packages that tradewire does not install. If the package is installed, `error.cause` says why it does not load.",
    advice:
      "Install the package with the command in the second line; add `--global` if tradewire is installed globally. `npm ls PACKAGE` shows the installed version.",
    example: "syncing to DuckDB or Parquet needs @duckdb/node-api, which is not installed",
  },
  TW_BLOCK_RANGE: {
    class: "RequestError",
    title: "The range of blocks is invalid, or cannot be exported",
    cause:
      "The range is reversed, lies outside the node's history, or does not start and end at the boundaries of segments.",
    advice:
      "Use the nearest range, which the second line names, or set `snap` (`--snap`) to widen the range. `tradewire segments` lists the segments.",
    example: "fromBlock 2000 is after toBlock 1000",
  },
  TW_CHAIN_MISMATCH: {
    class: "RequestError",
    title: "The node is not on the expected chain",
    cause:
      "The node, the configured `chainId`, the `follow` cursor or the target of a sync belong to different networks. Nothing was signed or written.",
    advice:
      "Compare the URL with `tradewire status`. If you meant to change the network, use another target, cursor or `chainId`.",
    example: 'the node is on chain "b", not on "a"',
  },
  TW_NOT_LISTED: {
    class: "RequestError",
    title: "The node lists no such record",
    cause: "No market, asset, party or other record of the node has this code, ID or start of an ID.",
    advice: "Use the suggestion in the second line, or list the records, such as with `tradewire markets`.",
    example: 'no order has the ID "12ab"',
  },
  TW_INVALID_CURSOR: {
    class: "RequestError",
    title: "The cursor is invalid",
    cause: "The cursor was changed, or belongs to another listing, table or file.",
    advice: "Pass a cursor exactly as you received it, or none to start over.",
    example: '"abc" is not a cursor of `follow`',
  },
  TW_INSECURE_HEADER: {
    class: "RequestError",
    title: "A header would be sent without encryption",
    cause: "Headers often contain tokens. The URL has `http:`, and its host is not this machine. Nothing was sent.",
    advice: "Use an `https:` URL. On a network that you trust, set `allowInsecureHeaders`.",
    example: "the header authorization would be sent over plain HTTP to node.example",
  },
  TW_NOT_OVER_REST: {
    class: "RequestError",
    title: "The call cannot be made over REST",
    cause:
      "The method has no HTTP rule, or a field of the request cannot be represented in the URL that the rule prescribes.",
    advice: "Call the method over gRPC: set `grpc.url` (`--grpc-url`).",
    example: "core.PingService/Ping has no HTTP rule, so it cannot be called over REST",
  },
  TW_NO_KEY: {
    class: "RequestError",
    title: "The key to sign with is missing or invalid",
    cause:
      "No key is set, an environment variable is empty, or the seed is not 64 hex digits. tradewire never prints a seed.",
    advice: "Set `--key-file FILE`. `tradewire keys new FILE` creates a key file.",
    example: "the environment variable TRADEWIRE_SEED is not set",
  },
  TW_INVALID_COMMAND: {
    class: "CommandError",
    title: "The command of a transaction is invalid",
    cause:
      "One or more fields break a rule of the network. `problems` lists each field and the rule. Nothing was signed.",
    advice: "Correct the fields. The network would refuse the transaction.",
    example: "orderSubmission.size must be positive (got 0)",
  },
  TW_POLICY: {
    class: "PolicyError",
    title: "The guard's policy does not allow the command",
    cause: "The command would exceed a limit of the policy; `rule`, `limit` and `value` say which. Nothing was signed.",
    advice: "Change the command, or the policy if the limit is wrong.",
    example: "the policy does not allow orderSubmission: the size 200 exceeds 100 (maxSize)",
  },
  TW_NODE_FAILED: {
    class: "NodeError",
    title: "The server failed",
    cause: "The server, or a proxy in front of it, answered with an error that the request did not cause.",
    advice: "Try again, then try another server. If it persists, report it to the operator of the server.",
    example: "the node answered INTERNAL: failed to read from the database",
  },
  TW_NODE_REFUSED: {
    class: "NodeError",
    title: "The server refused the request",
    cause:
      "A value of the request is invalid, or the server's data does not allow the call now, for example because a record already exists. Its message and its details say which.",
    advice:
      "Correct the request. If it is valid, the server may have another version: for a node, see `tradewire status`.",
    example: "the node answered INVALID_ARGUMENT: not a valid market id",
  },
  TW_NODE_NOT_FOUND: {
    class: "NodeError",
    title: "The server does not have the requested record or path",
    cause: "The record does not exist, the server no longer has it, or the URL has a wrong path (HTTP 404).",
    advice: "Check the identifier. For HTTP 404, check the URL and its path with `curl -i URL`.",
    example: "the node answered NOT_FOUND: no market with this id",
  },
  TW_NODE_CREDENTIALS: {
    class: "NodeError",
    title: "The server requires credentials, or rejects those it received",
    cause: "The server, or a proxy in front of it, requires a token or another header.",
    advice: "Set the header in `grpc.headers` and `rest.headers`, and check that the token has not expired.",
    example: "the node answered UNAUTHENTICATED: HTTP 401",
  },
  TW_NODE_UNIMPLEMENTED: {
    class: "NodeError",
    title: "The server does not offer the method",
    cause:
      "The server has another version, or the URL leads to another server, such as a core node instead of a data node.",
    advice: "Check the URL, and the version: of a node, with `tradewire status`.",
    example: "the node answered UNIMPLEMENTED: unknown service datanode.api.v2.TradingDataService",
  },
  TW_NODE_RATE_LIMITED: {
    class: "NodeError",
    title: "The server refused the call because there are too many calls",
    cause: "This address exceeded the server's rate limit. A node bans addresses that continue to call it.",
    advice: "Wait, and make fewer calls: set `limits.callsPerSecond`.",
    example: "the node answered RESOURCE_EXHAUSTED: HTTP 429",
  },
  TW_NODE_UNAVAILABLE: {
    class: "NodeError",
    title: "The server cannot serve the call now",
    cause:
      "The server is starting, overloaded or restarting, a proxy cannot reach it, or another call changed the same data.",
    advice: "Try again later, or configure several servers.",
    example: "the node answered UNAVAILABLE: HTTP 503",
  },
  TW_BANNED: {
    class: "BannedError",
    title: "The node has banned this address temporarily",
    cause:
      "The node kept receiving calls from this address after it had refused some for exceeding the rate limit. Other programs or users may share the address.",
    advice:
      "Wait until `until`; tradewire sends no calls before then. Set `limits.callsPerSecond` in each program that calls the node.",
    example: "the node has banned this address for too many calls, until 2026-01-31T12:30:00.000Z",
  },
  TW_UNREACHABLE: {
    class: "ConnectionError",
    title: "The server is unreachable",
    cause:
      "No connection could be made: the server is not running, the host or port is wrong, or a firewall blocks the connection. Nothing was sent.",
    advice:
      "Check the URL with `curl -v URL`. gRPC and REST have different ports. Without options, commands use a local node: start one with `tradewire devnode`.",
    example: "the connection was refused (http://127.0.0.1:3007)",
  },
  TW_TLS: {
    class: "ConnectionError",
    title: "No secure connection could be made",
    cause:
      "The server's certificate has expired, is not trusted or is for another hostname, the server does not speak TLS, or it requires a client certificate.",
    advice:
      "Check it with `openssl s_client -connect HOST:PORT`. Set `tls.caFile` for a private certificate authority, and `tls.certFile` and `tls.keyFile` for a client certificate. Use `http:` for a port without TLS.",
    example: "the server's certificate has expired (https://node.example:3007)",
  },
  TW_PROXY: {
    class: "ConnectionError",
    title: "The HTTP proxy failed or refused the connection",
    cause:
      "The proxy from `proxy`, `HTTPS_PROXY` or `HTTP_PROXY` is unreachable, requires credentials, or does not allow the host or port. Nothing was sent.",
    advice:
      "Check it with `curl -v --proxy PROXY URL`. Set `proxy: false` to use none, or add the host to `NO_PROXY`. Write credentials into the proxy's URL, with `%40` for `@`.",
    example: "the proxy http://proxy.example:8080 refuses to connect to node.example:3007 (HTTP 403)",
  },
  TW_CONNECTION_LOST: {
    class: "ConnectionError",
    title: "The connection was lost during the call",
    cause: "The server, a proxy or the network closed the connection. The server may have received the call.",
    advice:
      "Try again if the call only reads. Check the effects of other calls before you repeat them. If it happens immediately, the port may speak TLS (use `https:`) or gRPC.",
    example: "the connection was lost (http://node.example:3002)",
  },
  TW_TIMEOUT: {
    class: "ConnectionError",
    title: "The call took too long",
    cause:
      "The time limit of `timeouts.callMs`, `timeoutMs`, `--timeout` or `--call-timeout` passed, or a stream received no data for `timeouts.idleMs`. If `connected` is `false`, nothing was sent.",
    advice:
      "Allow more time, request less, or use another server. If calls wait for their turn, make fewer concurrent calls.",
    example: "no data received for 30000 ms (idle timeout)",
  },
  TW_CLIENT_CLOSED: {
    class: "ConnectionError",
    title: "The client or the transport was closed",
    cause: "The program closed the client before the call, or during it.",
    advice: "Close the client after its calls have ended. Create another client for more calls.",
    example: "the client was closed during the call",
  },
  TW_LISTEN: {
    class: "ConnectionError",
    title: "A server cannot listen on its address",
    cause: "Another process uses the port or the socket, or the address does not belong to this machine.",
    advice: "Use another port, or 0 for a free one. `ss -ltnp` shows which process uses a port.",
    example: "cannot listen on 127.0.0.1:3002: address already in use",
  },
  TW_SIGNER_FAILED: {
    class: "ConnectionError",
    title: "The signer process failed",
    cause: "The signer process had an error that is not one of tradewire's. Nothing was signed.",
    advice: "Read the log of the signer process.",
    example: "the signer failed",
  },
  TW_PROTOCOL: {
    class: "ProtocolError",
    title: "A response or a file contradicts itself, or does not match the request",
    cause:
      "A server sent data that breaks the rules of the interface: chunks, segments, pages, events or files that are inconsistent.",
    advice:
      'Use another server, and report it to the operator of this one. With nodes of v0.78, set `profile: "deployed"`.',
    example: "the stream of the export is empty",
  },
  TW_INVALID_RESPONSE: {
    class: "ProtocolError",
    title: "The response does not come from the expected server, or was changed on the way",
    cause:
      "A proxy, a login page or another server answered, the server has another version, or a proxy truncates or changes responses.",
    advice: "Use `curl -i URL` to see what answers. Configure the proxy to leave responses unchanged.",
    example: "unexpected response with content type text/html",
  },
  TW_INVALID_ARCHIVE: {
    class: "ProtocolError",
    title: "The archive is damaged, or not an export",
    cause: "The file is not a ZIP archive, was changed or damaged, or has content that no export has.",
    advice:
      "Export again. `unzip -t FILE` checks a ZIP archive; `tradewire assemble` creates an archive from a captured export. A gateway that adds a line feed after each chunk damages archives: use gRPC.",
    example: "history.zip: not a ZIP archive",
  },
  TW_TRUNCATED_ARCHIVE: {
    class: "ProtocolError",
    title: "The archive is truncated",
    cause: "The transfer was interrupted before the end of the archive, so rows are missing.",
    advice: "Export again. `--resume FOLDER` keeps the parts that are complete.",
    example: "the archive is truncated: the stream ended after 1024 bytes",
  },
  TW_INVALID_CSV: {
    class: "ProtocolError",
    title: "The CSV file is invalid",
    cause:
      "The file does not follow PostgreSQL's CSV format, is truncated or not UTF-8, or has a row that does not match the header. The first line names the file, line and column.",
    advice: "Fetch the file again. Raise `maxRowBytes` (`--max-row-bytes`) for long rows.",
    example: 'trades.csv, line 12, field 3 (column "price"): text after a closing quote',
  },
  TW_TOO_LARGE: {
    class: "ProtocolError",
    title: "The data exceeds a limit",
    cause: "A message, an archive, a row or a list is larger than the limits that protect memory and time.",
    advice:
      "Raise the limit that the second line names, or request less. If the node has no reason to send that much, use another node.",
    example: "a message is larger than the limit",
  },
  TW_HISTORY_CHANGED: {
    class: "ProtocolError",
    title: "The node's history changed, or no longer has the blocks",
    cause: "The node lists different segments than before, or dropped old blocks during the operation.",
    advice: "Start the operation again, or use a node that keeps more history.",
    example: "the node does not list the blocks 1 to 1000, which come next",
  },
  TW_TRANSACTION_REFUSED: {
    class: "TransactionError",
    title: "The network refused the transaction",
    cause:
      "`refusal` is the kind of refusal, and the message has the network's reason. `mayHaveBeenTaken` says whether an earlier submission may have been accepted.",
    advice:
      "Follow the second line of the message. If an earlier submission may have been accepted, run `tradewire outcome HASH` before you sign another transaction.",
    example: "the network refused the transaction (code 70): insufficient funds",
  },
  TW_OUTCOME_UNKNOWN: {
    class: "OutcomeUnknownError",
    title: "A transaction was sent, and its outcome is unknown",
    cause:
      "After the transaction was sent, the connection was lost, the time limit passed, or a server other than the node answered.",
    advice:
      "Call `client.outcome(error)` or run `tradewire outcome HASH`. Do not sign another transaction before you know the outcome: the command could be executed twice. Resending the same transaction is safe.",
    example:
      "the connection was lost (http://node.example:3002); it is unknown whether the node accepted the transaction",
  },
  TW_SLOW_CONSUMER: {
    class: "SlowConsumerError",
    title: "The stream was read too slowly",
    cause: "The node drops consumers that do not keep up with a stream. Messages may be missing.",
    advice: "Queue the messages and process them outside of the loop, or use a narrower filter.",
    example: "the stream of events ended because it was read too slowly",
  },
  TW_FILE_NOT_FOUND: {
    class: "FileError",
    title: "The file or folder does not exist",
    cause: "The path is misspelled, or its folder does not exist.",
    advice: "Check the path with `ls`. Create folders with `mkdir -p`.",
    example: "nosuch.zip: file not found",
  },
  TW_FILE_EXISTS: {
    class: "FileError",
    title: "The file already exists",
    cause: "tradewire overwrites files only on request. A folder with the name of the file also causes this error.",
    advice: "Use `force` (`--force`) to overwrite the file, or choose another name. End the path of a folder with `/`.",
    example: "trades.zip: file already exists",
  },
  TW_FILE_PERMISSION: {
    class: "FileError",
    title: "The permissions of the file or folder are wrong",
    cause: "You may not read or write the path, the disk is read-only, or other users can read or replace a key file.",
    advice: "Check with `ls -ld PATH` and `id`. For a key file: `chmod 600 FILE`, and `chmod go-w FOLDER`.",
    example: "/var/lib/history/trades.zip: permission denied",
  },
  TW_DISK_FULL: {
    class: "FileError",
    title: "The disk is full, or the file is too large for it",
    cause: "No space is left on the disk or in the quota, or the file exceeds a limit of the system.",
    advice: "Check with `df -h`, `quota` and `ulimit -f`. tradewire removes the unfinished file.",
    example: "trades.zip: the disk is full",
  },
  TW_FILE_FAILED: {
    class: "FileError",
    title: "The file or folder could not be read or written",
    cause: "The system reported another error, or the content of the file is invalid.",
    advice: "Check the disk with `dmesg` and `df -h`, and the path with `ls -ld PATH`.",
    example: "trades.zip: input/output error",
  },
  TW_NOT_LOADED: {
    class: "FileError",
    title: "A part of tradewire's own code could not be loaded",
    cause:
      "Some code is loaded by the first call that needs it. The program has too many open files, or the package was moved, replaced or damaged while it runs.",
    advice:
      "Raise the limit of open files (`ulimit -n`) and try again. If the package was replaced, restart the program. `error.cause` says which file could not be read.",
    example: "code of tradewire could not be loaded: too many open files",
  },
  TW_SINK_UNREACHABLE: {
    class: "SinkError",
    title: "The sink of a sync is unreachable or in use",
    cause:
      "The database refuses connections, or another process has the DuckDB file open. A sync retries by itself, for at most `retryForMs`.",
    advice: "Check PostgreSQL with `pg_isready -h HOST -p PORT`, and a DuckDB file with `fuser FILE`.",
    example: "postgres://db.example/history: connect ECONNREFUSED 127.0.0.1:5432",
  },
  TW_SINK_CREDENTIALS: {
    class: "SinkError",
    title: "The sink of a sync refuses access",
    cause: "The password is wrong or missing, the user lacks rights, or the server's certificate is not trusted.",
    advice: "Set `PGPASSWORD`, `~/.pgpass` or `--to-env VARIABLE`, and test the login with `psql URL`.",
    example: 'postgres://db.example/history: password authentication failed for user "me"',
  },
  TW_SINK_CONFLICT: {
    class: "SinkError",
    title: "The operation conflicted with other work on the sink",
    cause: "Another sync or transaction changed the same data at the same time. A sync retries by itself.",
    advice: "Try again.",
    example: "postgres://db.example/history: deadlock detected",
  },
  TW_SINK_FULL: {
    class: "SinkError",
    title: "The sink of a sync is out of disk space, memory or connections",
    cause: "The database cannot store more, or allows no more connections.",
    advice: "Free some space; set `memoryLimit` for DuckDB, or `max_connections` for PostgreSQL.",
    example: "duckdb:history.duckdb: out of memory",
  },
  TW_SINK_FAILED: {
    class: "SinkError",
    title: "The sink of a sync does not have the expected content, or failed",
    cause:
      "Tables, columns or the ledger were not created by this release of `tradewire sync`, were changed by another program, or are damaged.",
    advice:
      "Undo the change, restore a backup, or sync into a new file, folder or schema. If the network or the ledger is newer than this release, install a newer one.",
    example: "table trades exists but was not created by tradewire sync",
  },
  TW_DIVERGENCE: {
    class: "DivergenceError",
    title: "The history in the sink diverges from the node's",
    cause:
      "The node belongs to another network, started over, or its history changed during the sync. `divergence` has the position. Nothing was changed.",
    advice:
      "Check the node with `tradewire status`. To replace the history from block N with the node's, use `--replace-from-block N`.",
    example:
      'the histories diverge: duckdb:history.duckdb has blocks 2001 to 3000 of trades from segment "Qm1" after "Qm0", but the node has segment "Qm2" of blocks 2001 to 3000 after "Qm0"',
  },
  TW_CANCELED: {
    class: "CanceledError",
    title: "The caller canceled the call",
    cause:
      "The signal was aborted, or Ctrl-C was pressed. `mayHaveBeenSent` is `false` if no part of the call was sent.",
    advice: "No action is needed.",
    example: "the call was canceled",
  },
} satisfies Readonly<Record<`TW_${string}`, ErrorExplanation>>;

/** The stable code of an error, such as `TW_FILE_NOT_FOUND`; `npx tradewire explain CODE` explains it. */
export type ErrorCode = keyof typeof ERROR_CODES;
