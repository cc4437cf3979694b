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
    'the options have "memorylimit", which they do not know\nDid you mean memoryLimit?',
  ],
  ["a path of DuckDB", () => duckdbSink(untyped(undefined)), "the path of a DuckDB file is undefined"],
  ["an empty path", () => duckdbSink(""), 'the path of a DuckDB file is ""'],
  ["a limit", () => duckdbSink("x", { memoryLimit: untyped(5) }), "memoryLimit is 5\n"],
  ["views", () => duckdbSink("x", { namedViews: untyped("yes") }), 'namedViews is "yes"\nGive true or false.'],
  ["options that are no object", () => duckdbSink("x", untyped(null)), "the options are null\nGive an object."],
  ["Parquet's", () => parquetSink("x", untyped({ namedViews: true })), 'the options have "namedViews"'],
  ["a folder", () => parquetSink(untyped(7)), "the folder of Parquet files is 7"],
  ["no target", () => postgresSink(untyped(undefined)), "a PostgreSQL sink has neither a URL nor a pool"],
  ["a target that is none", () => postgresSink(untyped({})), "a PostgreSQL sink has neither a URL nor a pool"],
  [
    "PostgreSQL's",
    () => postgresSink("postgres://a/b", untyped({ shema: "x" })),
    'the options have "shema", which they do not know\nDid you mean schema?',
  ],
  ["a schema", () => postgresSink("postgres://a/b", { schema: untyped(5) }), "the name of the schema is no text"],
  [
    "indexes",
    () => postgresSink("postgres://a/b", { createIndexes: untyped(true) }),
    'createIndexes is true\nGive "with" or "after".',
  ],
])("a sink refuses %s", (_, make, message) => {
  expect(make).toThrow(RequestError);
  expect(make).toThrow(message);
});

test.each<[string, () => Promise<unknown>, string]>([
  ["a queue beside another sink", () => queueStatus(untyped(duckdbSink("x"))), "a queue needs a sink in PostgreSQL"],
  ["a watch without a state", () => startWatch(untyped({ listen: "127.0.0.1:0" })), "state is undefined\nGive what"],
  [
    "a misspelt option of a watch",
    () => startWatch(untyped({ listen: "127.0.0.1:0", stat: 1 })),
    'the options have "stat", which they do not know\nDid you mean state?',
  ],
  ["no options", () => syncHistory(client, untyped(undefined)), "the sink is undefined"],
  ["a sink that is a text", () => planHistory(client, { sink: untyped("x.duckdb") }), "the sink is x.duckdb"],
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
  ["no client", () => syncHistory(untyped(undefined), { sink: sink() }), "undefined is no client"],
  ["a URL for a client", () => syncHistory([client, untyped("http://x")], { sink: sink() }), '"http://x" is no client'],
  [
    "a misspelt hook",
    () => syncHistory(client, { sink: sink(), hooks: untyped({ onevent() {} }) }),
    'hooks has "onevent", which it does not know\nDid you mean onEvent?',
  ],
  [
    "a hook that is no function",
    () => syncHistory(client, { sink: sink(), hooks: { onEvent: untyped(1) } }),
    "onEvent is 1",
  ],
  [
    "a signal",
    () => syncHistory(client, { sink: sink(), signal: untyped(new AbortController()) }),
    "signal is an object\nGive the signal of an AbortController.",
  ],
  [
    "follow",
    () => syncHistory(client, { sink: sink(), follow: untyped("yes") }),
    'follow is "yes"\nGive true or false.',
  ],
  ["a limit", () => syncStatus(sink(), { limit: untyped("5") }), 'limit is "5"'],
  ["a client of a status", () => syncStatus(sink(), { clients: untyped({}) }), "an object is no client"],
  ["deep", () => verifySync(sink(), { deep: untyped(1) }), "deep is 1"],
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
