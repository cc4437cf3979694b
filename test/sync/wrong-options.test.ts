import { expect, it, test } from "@jest/globals";
import { RequestError } from "tradewire";
import {
  duckdbSink,
  parquetSink,
  planHistory,
  postgresSink,
  queueStatus,
  type Sink,
  startWatch,
  syncHistory,
  syncStatus,
  verifySync,
} from "tradewire/sync";
import { jsonLinesSink } from "../support/json-lines-sink.js";
import { listingClient } from "../support/made-history.js";

/** What programs in JavaScript may write. */
// biome-ignore lint/suspicious/noExplicitAny: the types refuse it
const untyped = (value: unknown) => value as any;

const client = listingClient("a", []);
const sink = () => jsonLinesSink("/tmp/none");

test.each<[string, () => unknown, string]>([
  [
    "a sink's",
    () => duckdbSink("x", untyped({ memorylimit: "1GiB" })),
    'unknown option "memorylimit" in options\nDid you mean memoryLimit?',
  ],
  ["a path of DuckDB", () => duckdbSink(untyped(undefined)), "the path of a DuckDB file must be a non-empty string"],
  ["an empty path", () => duckdbSink(""), "the path of a DuckDB file must be a non-empty string"],
  [
    "a limit",
    () => duckdbSink("x", { memoryLimit: untyped(5) }),
    'memoryLimit must be a non-empty string such as "1GiB" (got 5)',
  ],
  ["views", () => duckdbSink("x", { views: untyped("yes") }), 'views must be "all" or "none" (got "yes")'],
  ["options that are no object", () => duckdbSink("x", untyped(null)), "options must be an object (got null)"],
  ["Parquet's", () => parquetSink("x", untyped({ views: "all" })), 'unknown option "views" in options'],
  ["a folder", () => parquetSink(untyped(7)), "the folder of Parquet files must be a non-empty string"],
  ["no target", () => postgresSink(untyped(undefined)), "a PostgreSQL sink needs a URL or a pool"],
  ["a target that is none", () => postgresSink(untyped({})), "a PostgreSQL sink needs a URL or a pool"],
  [
    "PostgreSQL's",
    () => postgresSink("postgres://a/b", untyped({ shema: "x" })),
    'unknown option "shema" in options\nDid you mean schema?',
  ],
  ["a schema", () => postgresSink("postgres://a/b", { schema: untyped(5) }), "schema must be a string such as"],
  [
    "indexes",
    () => postgresSink("postgres://a/b", { createIndexes: untyped(true) }),
    'createIndexes must be "with" or "after" (got true)',
  ],
])("a sink refuses %s", (_, make, message) => {
  expect(make).toThrow(RequestError);
  expect(make).toThrow(message);
});

test.each<[string, () => Promise<unknown>, string]>([
  ["a queue beside another sink", () => queueStatus(untyped(duckdbSink("x"))), "a queue needs a PostgreSQL sink"],
  [
    "a watch without a state",
    () => startWatch(untyped({ listen: "127.0.0.1:0" })),
    "state must be a result of createSyncState() (got undefined)",
  ],
  [
    "a misspelt option of a watch",
    () => startWatch(untyped({ listen: "127.0.0.1:0", stat: 1 })),
    'unknown option "stat" in options\nDid you mean state?',
  ],
  ["no options", () => syncHistory(client, untyped(undefined)), "the sink must be an object (got undefined)"],
  [
    "a sink that is a text",
    () => planHistory(client, { sink: untyped("x.duckdb") }),
    "the sink must be an object (got x.duckdb)",
  ],
  [
    "a sink without a method",
    () => syncHistory(client, { sink: { ...sink(), remove: untyped(undefined) } }),
    "the sink has no method remove\n",
  ],
  [
    "a sink that cannot be closed",
    () => verifySync({ ...sink(), [Symbol.asyncDispose]: untyped(1) }),
    "the sink has no [Symbol.asyncDispose]",
  ],
  [
    "no client",
    () => syncHistory(untyped(undefined), { sink: sink() }),
    "client must be a result of createClient() (got undefined)",
  ],
  [
    "a URL for a client",
    () => syncHistory([client, untyped("http://x")], { sink: sink() }),
    "client must be a result of createClient() (got a string)",
  ],
  [
    "a misspelt hook",
    () => syncHistory(client, { sink: sink(), hooks: untyped({ onevent() {} }) }),
    'unknown field "onevent" in hooks\nDid you mean onEvent?',
  ],
  [
    "a hook that is no function",
    () => syncHistory(client, { sink: sink(), hooks: { onEvent: untyped(1) } }),
    "onEvent must be a function (got 1)",
  ],
  [
    "a signal",
    () => syncHistory(client, { sink: sink(), signal: untyped(new AbortController()) }),
    "signal must be an AbortSignal (got an AbortController)",
  ],
  [
    "follow",
    () => syncHistory(client, { sink: sink(), follow: untyped("yes") }),
    'follow must be true or false (got "yes")',
  ],
  [
    "a limit",
    () => syncStatus(sink(), { limit: untyped("5") }),
    'limit must be a whole number from 1 to 10000000 (got "5")',
  ],
  [
    "a client of a status",
    () => syncStatus(sink(), { clients: untyped({}) }),
    "client must be a result of createClient() (got an object)",
  ],
  ["deep", () => verifySync(sink(), { deep: untyped(1) }), "deep must be true or false (got 1)"],
])("refuses %s", async (_, act, message) => {
  const acting = act();
  await expect(acting).rejects.toThrow(RequestError);
  await expect(acting).rejects.toThrow(message);
});

it("takes a sink whose methods are those of a class", async () => {
  const made: Sink = sink();
  const inherited: Sink = Object.create(made);
  expect(await syncHistory(client, { sink: inherited })).toMatchObject({ units: 0 });
});
