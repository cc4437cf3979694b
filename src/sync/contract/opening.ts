import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { RequestError } from "../../errors/index.js";
import { arriving, madeUp, rowsOf, unitAt } from "./given.js";
import { CHAIN, entriesOf, expectRows, plainly, type SinkCase, type SinkHost, sinkCase, withOpened } from "./host.js";

/** How a sink is opened. */
export const openingCases: readonly SinkCase[] = [
  sinkCase("says what it is called", async ({ makeSink }) => {
    const sink = makeSink();
    ok(sink.name.length > 0);
    await sink[Symbol.asyncDispose]();
  }),

  sinkCase("opens a new place, and again what is there", async (host) => {
    strictEqual(await inspected(host), undefined);
    for (const _ of ["new", "again"]) {
      await withOpened(host, ["trades", "orders"], async ({ sink }) => {
        deepStrictEqual(await entriesOf(sink, "trades"), []);
      });
      strictEqual(await inspected(host), CHAIN);
    }
    deepStrictEqual(await host.readRows("trades"), []);
  }),

  sinkCase("is looked at without making anything", async (host) => {
    strictEqual(await inspected(host), undefined);
    strictEqual(await inspected(host), undefined);
    deepStrictEqual((await host.readRows("trades")) ?? [], []);
  }),

  sinkCase("shows its ledger where it is looked at, also of tables that it has not", async (host) => {
    await withOpened(host, ["blocks"], async ({ sink }) => {
      await sink.load(unitAt("blocks", 1), arriving(madeUp("blocks")).fetch, plainly());
    });
    const sink = host.makeSink();
    await sink.inspect(plainly().signal);
    strictEqual((await entriesOf(sink, "blocks")).length, 1);
    deepStrictEqual(await entriesOf(sink, "trades"), []);
    await sink[Symbol.asyncDispose]();
  }),

  sinkCase("holds one chain, and refuses another", async (host) => {
    await withOpened(host, ["blocks"], async ({ sink }) => {
      await sink.load(unitAt("blocks", 1), arriving(madeUp("blocks")).fetch, plainly());
    });
    const other = withOpened(host, ["blocks"], async () => undefined, { chainId: "another-chain" });
    await rejects(other, (reason) => reason instanceof RequestError && reason.message.includes(CHAIN));
    strictEqual(await inspected(host), CHAIN);
    await expectRows(host, "blocks", rowsOf("blocks", madeUp("blocks")));
  }),

  sinkCase("is opened for more tables later, and keeps those that it has", async (host) => {
    const csv = madeUp("blocks");
    await withOpened(host, ["blocks"], async ({ sink }) => {
      await sink.load(unitAt("blocks", 1), arriving(csv).fetch, plainly());
    });
    await withOpened(host, ["trades"], async ({ sink }) => {
      await sink.load(unitAt("trades", 1), arriving(madeUp("trades", { rows: 3 })).fetch, plainly());
      strictEqual((await entriesOf(sink, "blocks")).length, 1);
    });
    await expectRows(host, "blocks", rowsOf("blocks", csv));
    strictEqual((await host.readRows("trades"))?.length, 3);
  }),
];

async function inspected(host: SinkHost): Promise<string | undefined> {
  const sink = host.makeSink();
  try {
    return await sink.inspect(plainly().signal);
  } finally {
    await sink[Symbol.asyncDispose]();
  }
}
