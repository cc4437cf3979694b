import { Code } from "@connectrpc/connect";
import { expect, it } from "@jest/globals";
import { ConnectionError } from "tradewire";
import { type LedgerEntry, type Sink, type SyncClient, type SyncEvent, syncHistory } from "tradewire/sync";
import { listingClient, segments } from "../support/made-history.js";

/** More segments than a survey lists of a table. */
const [OLD, ALL] = [600, 603];

/** A sink that keeps a ledger, and no rows. */
function ledgerSink(): Sink {
  const ledger: LedgerEntry[] = [];
  return {
    name: "memory",
    open: async () => undefined,
    inspect: async () => undefined,
    async *entries(table, behind = -1n) {
      yield* ledger
        .filter((entry) => entry.table === table && entry.fromBlock > behind)
        .sort((a, b) => Number(a.fromBlock - b.fromBlock));
    },
    async load(unit) {
      const entry = { ...unit, rows: 0n, bytes: 0n, sha256: "", loadedAt: "" };
      ledger.push(entry);
      return { outcome: "loaded", entry };
    },
    remove: async () => undefined,
    countRows: async () => 0n,
    compareRows: async () => ({ missing: 0n, extra: 0n }),
    close: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

it("takes what nodes have while more segments than are listed at once are those of a node that is away", async () => {
  const unreachable = new ConnectionError("refused", { code: Code.Unavailable, connected: false, advice: "Wait." });
  let [looks, isBack] = [0, false];
  const archive: SyncClient = {
    ...listingClient("archive", unreachable),
    async listSegments() {
      looks += 1;
      if (looks > 1 && !isBack) {
        throw unreachable;
      }
      return segments(1, ALL);
    },
  };
  const young: SyncClient = {
    ...listingClient("young", unreachable),
    async listSegments() {
      if (looks < 2) {
        throw unreachable;
      }
      return segments(OLD + 1, ALL);
    },
  };
  const loaded: bigint[] = [];
  let loadedBefore: bigint[] | undefined;
  const onEvent = (event: SyncEvent) => {
    if (event.kind === "loaded") {
      loaded.push(event.entry.toBlock);
    } else if (event.kind === "waiting") {
      loadedBefore ??= [...loaded];
      isBack = true;
    }
  };
  const summary = await syncHistory([archive, young], {
    sink: ledgerSink(),
    tables: ["blocks"],
    parallel: 1,
    pollMs: 1,
    retryForMs: 20_000,
    hooks: { onEvent },
  });
  expect(loadedBefore).toEqual([6010n, 6020n, 6030n]);
  expect(summary).toMatchObject({ units: ALL, failed: [], tables: [{ missing: 0n }] });
});
