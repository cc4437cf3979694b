import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { CanceledError } from "../../base/errors/index.js";
import { wait } from "../../base/signal/wait.js";
import type { FetchUnit, LoadResult, Sink } from "../sink.js";
import {
  CHAIN,
  expectRows,
  fetchOf,
  generateCsv,
  ledgerEntries,
  loadOptions,
  type SinkCase,
  type SinkHost,
  sinkCase,
  unitAt,
  withOpened,
} from "./contract-fixtures.js";

const TABLE = "trades";
const csv = (number: number) => generateCsv(TABLE, { from: number * 100 });

/** Cases of canceled and failed loads, and of two sinks with the same location. */
export const concurrencyCases: readonly SinkCase[] = [
  sinkCase("ends a load when the signal is aborted, and rolls it back", async (host) => {
    await withOpened(host, [TABLE], async ({ sink }) => {
      const ending = new AbortController();
      const { fetch, arrived } = stalling(ending.signal);
      const loading = sink.load(unitAt(TABLE, 1), fetch, { replace: false, signal: ending.signal });
      const ended = rejects(loading);
      await arrived;
      ending.abort();
      await ended;
      deepStrictEqual(await ledgerEntries(sink, TABLE), []);
      await expectRows(host, TABLE, []);
      strictEqual((await sink.load(unitAt(TABLE, 1), fetchOf(csv(1)).fetch, loadOptions())).outcome, "loaded");
    });
    await expectRows(host, TABLE, [csv(1)]);
  }),

  sinkCase("loads nothing if the signal is already aborted", async (host) => {
    await withOpened(host, [TABLE], async ({ sink }) => {
      const { fetch, calls } = fetchOf(csv(1));
      await rejects(sink.load(unitAt(TABLE, 1), fetch, { replace: false, signal: AbortSignal.abort() }));
      strictEqual(calls(), 0);
      deepStrictEqual(await ledgerEntries(sink, TABLE), []);
    });
  }),

  sinkCase("can be closed during a load: the unit is loaded completely or not at all", async (host) => {
    const sink = await opened(host);
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const loading = sink.load(unitAt(TABLE, 1), fetchOf(csv(1), { gate }).fetch, loadOptions()).then(
      ({ outcome }) => outcome,
      () => "failed",
    );
    const closing = sink.close();
    release();
    await closing;
    const outcome = await loading;
    await withOpened(host, [TABLE], async ({ sink }) => {
      strictEqual((await ledgerEntries(sink, TABLE)).length, outcome === "loaded" ? 1 : 0);
      await expectRows(host, TABLE, outcome === "loaded" ? [csv(1)] : []);
      const again = await sink.load(unitAt(TABLE, 1), fetchOf(csv(1)).fetch, loadOptions());
      strictEqual(again.outcome, outcome === "loaded" ? "there" : "loaded");
    });
  }),

  sinkCase("can be closed twice", async (host) => {
    const sink = await opened(host);
    await sink.close();
    await sink[Symbol.asyncDispose]();
  }),

  sinkCase("fetches a unit once, even if several sinks load it", (host) => sideBySide(host, "one"), true),
  sinkCase("fetches a unit once if one sink loads it several times", (host) => sideBySide(host, "none")),

  sinkCase(
    "shares the work of two sinks: each unit is loaded once",
    async (host) => {
      const [one, two] = [await opened(host), await opened(host)];
      const segments = [1, 2, 3, 4, 5, 6];
      const asked = segments.map((segment) => fetchOf(csv(segment)));
      // Whoever finds a unit busy looks again.
      const loadAll = async (sink: Sink): Promise<number> => {
        let loaded = 0;
        for (const [index, segment] of segments.entries()) {
          const { outcome } = await untilDone(() =>
            sink.load(unitAt(TABLE, segment), asked[index]?.fetch ?? missing, loadOptions()),
          );
          loaded += outcome === "loaded" ? 1 : 0;
        }
        return loaded;
      };
      const counts = await Promise.all([loadAll(one), loadAll(two)]);
      strictEqual(counts[0] + counts[1], segments.length);
      deepStrictEqual(
        asked.map(({ calls }) => calls()),
        segments.map(() => 1),
      );
      await Promise.all([one[Symbol.asyncDispose](), two[Symbol.asyncDispose]()]);
      await expectRows(host, TABLE, segments.map(csv));
    },
    true,
  ),
];

const missing: FetchUnit = () => Promise.reject(new Error("no such unit"));

/** Loads a unit while another sink, or the same one, is loading it. */
async function sideBySide(host: SinkHost, other: "one" | "none"): Promise<void> {
  const first = await opened(host);
  const second = other === "one" ? await opened(host) : first;
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { fetch, arrived } = noticed(fetchOf(csv(1), { gate }).fetch);
  const loading = first.load(unitAt(TABLE, 1, { last: 2 }), fetch, loadOptions());
  await arrived;
  const again = fetchOf(csv(2));
  for (const unit of [unitAt(TABLE, 1, { last: 2 }), unitAt(TABLE, 2), unitAt(TABLE, 2, { last: 3 })]) {
    deepStrictEqual(await second.load(unit, again.fetch, loadOptions()), { outcome: "busy" });
  }
  strictEqual(again.calls(), 0);
  deepStrictEqual(await ledgerEntries(second, TABLE), []);
  await expectRows(host, TABLE, []);
  release();
  strictEqual((await loading).outcome, "loaded");
  strictEqual((await second.load(unitAt(TABLE, 2), again.fetch, loadOptions())).outcome, "there");
  strictEqual((await second.load(unitAt(TABLE, 3), fetchOf(csv(3)).fetch, loadOptions())).outcome, "loaded");
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
  await expectRows(host, TABLE, [1, 3].map(csv));
}

async function opened(host: SinkHost): Promise<Sink> {
  const sink = host.makeSink();
  const signal = new AbortController().signal;
  await sink.open({ chainId: CHAIN, tables: [TABLE], onUnknown: () => undefined, unknownColumns: "add", signal });
  return sink;
}

async function untilDone(load: () => Promise<LoadResult>): Promise<LoadResult> {
  for (let looks = 0; ; looks += 1) {
    const result = await load();
    if (result.outcome !== "busy") {
      return result;
    }
    ok(looks < 1000, "a unit stays busy");
    await wait(10);
  }
}

function noticed(fetch: FetchUnit): { readonly fetch: FetchUnit; readonly arrived: Promise<void> } {
  let arrive = (): void => undefined;
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  return {
    arrived,
    fetch: () => {
      arrive();
      return fetch();
    },
  };
}

/** A file that stalls after its header until the signal is aborted, as an export of a node does. */
function stalling(signal: AbortSignal): { readonly fetch: FetchUnit; readonly arrived: Promise<void> } {
  const gate = new Promise<void>((_, reject) => {
    signal.addEventListener("abort", () => reject(new CanceledError()), { once: true });
  });
  gate.catch(() => undefined); // It may come before anybody waits for it.
  return noticed(fetchOf(csv(1), { gate }).fetch);
}
