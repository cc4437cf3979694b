// What the library returns can be written by JSON.stringify: 64-bit integers are decimal strings then.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  checkRange,
  contiguousSpans,
  createTransaction,
  gapsBetween,
  openArchive,
  openFileJournal,
  openTransaction,
  parseArchiveName,
  schemaSpans,
  signerFromMnemonic,
  snapRange,
  solveProofOfWork,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import {
  compareLedger,
  createSyncState,
  planHistory,
  type SyncEvent,
  syncHistory,
  syncStatus,
  unitsOf,
  verifySync,
} from "tradewire/sync";
import { openMarket } from "../support/devnode.js";
import { eventually } from "../support/eventually.js";
import { jsonLinesSink } from "../support/json-lines-sink.js";
import { limitOrder, type Started, start } from "../support/leases.js";
import { restingOrder } from "../support/transactions.js";

let folder: string;
let started: Started;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-json-"));
  started = await start();
});
afterAll(async () => {
  await started[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const range = { fromBlock: 1n, toBlock: 20n };

/** Takes some values of an iterable, up to the first that is wanted. */
async function take<T>(values: AsyncIterable<T>, count = 1, isWanted = (_: T) => false): Promise<T[]> {
  const taken: T[] = [];
  for await (const value of values) {
    taken.push(value);
    if (taken.length === count || isWanted(value)) {
      break;
    }
  }
  return taken;
}

let number = 0;
const place = (name: string) => join(folder, `${number++}-${name}`);
const save = () =>
  started.client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 20 }).saveTo(place("trades.zip"));

async function synced() {
  const events: SyncEvent[] = [];
  const state = createSyncState();
  const sink = place("history");
  const onEvent = (event: SyncEvent) => {
    state.take(event);
    events.push(event);
  };
  const options = { tables: ["blocks" as const], range: { fromBlock: 1, toBlock: 20 } };
  const summary = await syncHistory(started.client, { ...options, sink: jsonLinesSink(sink), hooks: { onEvent } });
  const again = { ...options, clients: started.client };
  const verified: unknown[] = [];
  return {
    summary,
    events,
    verified,
    snapshot: state.snapshot(),
    status: await syncStatus(jsonLinesSink(sink), again),
    verification: await verifySync(jsonLinesSink(sink), {
      ...again,
      deep: true,
      onVerified: (each) => void verified.push(each),
    }),
    plan: await planHistory(started.client, { ...options, sink: jsonLinesSink(place("empty")) }),
  };
}
let sync: ReturnType<typeof synced> | undefined;
const once = () => {
  sync ??= synced();
  return sync;
};

async function settled() {
  const { client, node } = started;
  await using journal = await openFileJournal(place("journal"));
  using signer = await signerFromMnemonic(node.mnemonic, { index: 3 });
  const orders = client.intents({ signer, journal });
  const ended = await orders.submit(restingOrder, { id: "one" });
  orders.close();
  return ended;
}

/** The results that have 64-bit integers or bytes, by their types, and what makes them. */
const producers: Readonly<Record<string, () => unknown>> = {
  AccountView: async () => {
    await started.leases.submit(limitOrder());
    const account = started.client.account(started.signer.publicKey);
    return (await take(account, 10, ({ orders }) => orders.length > 0)).at(-1);
  },
  ArchiveFile: async () => take(openArchive((await save()).path).files()),
  BlockRange: async () =>
    gapsBetween([
      { fromBlock: 1n, toBlock: 2n },
      { fromBlock: 5n, toBlock: 6n },
    ]),
  BookView: () => take(started.client.book(openMarket)),
  CoverageComparison: async () => {
    const history = { chainId: "a", segments: [] };
    return compareLedger({ async *entries() {} }, { history, tables: ["trades"], range, limit: 1 });
  },
  DataNodeLag: () => started.client.dataNodeLag(),
  EventOrigin: () => take(started.client.events({ types: ["beginBlock", "endBlock"] }), 3),
  ExecutedCommand: async () => {
    const { client, node } = started;
    using signer = await signerFromMnemonic(node.mnemonic, { index: 4 });
    const waits: unknown[] = [];
    const onWait = (wait: object) => void waits.push(wait);
    return [await client.sendCommand(restingOrder, { signer, until: "executed", onWait }), waits];
  },
  ExportName: () => parseArchiveName("chain-1-trades-1-1000.zip"),
  FollowedRows: () => take(started.client.follow({ table: "trades", fromBlock: 1 }, { typed: true })),
  HistorySegment: () => started.client.listSegments(),
  LastBlockHeightResponse: () => started.client.lastBlockHeight(),
  LeaseCoverage: async () => {
    await started.leases.submit(limitOrder());
    return started.leases.coverage();
  },
  LeaseEvent: async () => {
    await started.leases.submit(limitOrder());
    await eventually(() => hasLong(started.events));
    return [...started.events];
  },
  LeasedSubmission: () => started.leases.submit(limitOrder()),
  ListedRecord: () => take(started.client.records(TradingDataService.method.listOrders)),
  NodeStatus: () => started.client.status(),
  OpenedTransaction: async () => {
    const { chainId } = started.node;
    const block = { chainId, height: 1n, hash: "00".repeat(32), difficulty: 1, hashFunction: "sha3_24_rounds" };
    return openTransaction(await createTransaction(restingOrder, { signer: started.signer, block }), { chainId });
  },
  ProofOfWork: () => solveProofOfWork({ blockHash: "00".repeat(32), tid: "t", difficulty: 1 }),
  RangeCheck: async () => {
    const segments = await started.client.listSegments();
    return [checkRange(segments, range), snapRange(segments, { fromBlock: 2n, toBlock: 3n }), checkRange([], range)];
  },
  SavedExport: save,
  SegmentSpan: async () => {
    const segments = await started.client.listSegments();
    return [contiguousSpans(segments), schemaSpans(segments)];
  },
  SettledIntent: settled,
  SyncEvent: async () => (await once()).events,
  SyncSnapshot: async () => (await once()).snapshot,
  SyncStatus: async () => (await once()).status,
  SyncSummary: async () => (await once()).summary,
  TablePlan: async () => (await once()).plan,
  TransactionResult: async () => {
    const results = take(started.client.transactionResults());
    await started.leases.submit(limitOrder());
    return results;
  },
  TypedRow: () =>
    take(started.client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 20 }).rows({ typed: true })),
  Unit: async () => {
    const { plan, status } = await once();
    const segment = { fromBlock: 1n, toBlock: 2n, id: "a", previousId: "", schemaVersion: 1n };
    return [unitsOf(status.chainId ?? "", [{ table: "blocks", segment }], 1), plan];
  },
  Verification: async () => (await once()).verification,
  Verified: async () => (await once()).verified,
};

/** Writes a value as JSON must. */
function written(value: unknown): unknown {
  if (typeof value === "bigint") {
    return String(value);
  }
  if (value instanceof Uint8Array) {
    return Buffer.from(value).toString("base64");
  }
  if (typeof value !== "object" || value === null || value instanceof Error) {
    return value;
  }
  return Array.isArray(value)
    ? value.map(written)
    : Object.fromEntries(
        Object.entries(value).flatMap(([name, each]) =>
          typeof each === "function" || each === undefined ? [] : [[name, written(each)]],
        ),
      );
}

const hasLong = (value: unknown): boolean =>
  typeof value === "bigint" ||
  (typeof value === "object" && value !== null && Object.values(value).some((each) => hasLong(each)));

describe("JSON.stringify writes", () => {
  it.each(Object.entries(producers))("%s", async (name, produce) => {
    const result = await produce();
    expect(hasLong(result)).toBe(true);
    const json = JSON.parse(JSON.stringify(result));
    if (name !== "ListedRecord" && name !== "LastBlockHeightResponse") {
      expect(json).toEqual(written(result)); // Records and responses are Protobuf's JSON.
    }
  });

  it("the responses of services, with enum values by their names", async () => {
    const data = started.client.service(TradingDataService);
    const response = await data.listOrders({ pagination: { first: 1 } });
    const edges = response.orders?.edges.map(({ node, cursor }) => ({
      cursor,
      node: { id: node?.id, size: String(node?.size), side: expect.stringMatching(/^SIDE_(BUY|SELL)$/) },
    }));
    expect(edges).toHaveLength(1);
    expect(JSON.parse(JSON.stringify(response))).toMatchObject({ orders: { edges } });
    const [update] = await take(data.observeOrders({}));
    expect(JSON.parse(JSON.stringify({ update }))).toHaveProperty("update.snapshot.orders.0.status");
  });

  it("parts of results", async () => {
    const { summary, plan, verified, events, snapshot } = await once();
    for (const part of [...summary.tables, ...plan.tables, ...verified, ...events, snapshot.total.loaded]) {
      expect(() => JSON.stringify(part)).not.toThrow();
    }
  });

  it("what results look like does not change by it", async () => {
    const lag = await started.client.dataNodeLag();
    expect(Object.keys(lag)).not.toContain("toJSON");
    expect(lag).toStrictEqual({ ...lag });
    const [event] = await take(started.client.events({ types: ["beginBlock"] }));
    expect(event).toStrictEqual({ ...event });
  });
});

/** Types with 64-bit integers or bytes that callers pass, that only sinks and servers see, or that are parts of results above. */
const OTHERS = [
  ...["DateRange", "ExportRequest", "FollowRequest", "RawInputData", "SolveOptions", "SyncOptions", "TransactionForm"],
  ...["CoverageQuery", "HistoryMark", "Sink", "SinkOpening", "UnitCsv", "SharedBlock", "Signer", "SegmentHeights"],
  ...["SubmissionResult", "TransactionFailure", "ExportResult", "BlockTask", "TypedOptions"],
  ...["Controls", "DecimalUnits", "Guard", "LedgerExport", "MarketUnits", "NetworkHistoryExport", "RemoteSigner"],
  ...["SeedSigner", "Compacted", "WorkerSummary", "Units", "TradesFilter"],
  ...[
    "Done",
    "Gap",
    "BookGap",
    "HistoryPlan",
    "IntentEnding",
    "Lag",
    "Loaded",
    "MarketCoverage",
    "Measures",
    "Outcome",
  ],
  ...["OutcomeWait", "PositionCoverage", "Segment", "TableProgress", "TableSummary", "LedgerEntry"],
];

it("no public type with 64-bit integers is missing above", async () => {
  const sources = (await readdir("src", { recursive: true })).filter((name) => name.endsWith(".ts"));
  const texts = await Promise.all(sources.map((name) => readFile(join("src", name), "utf8")));
  const indexes = texts.filter((_, index) => /(^|\/)index\.ts$/.test(sources[index] ?? ""));
  const entries = indexes.flatMap((text) => text.match(/^export (?:type )?\{[^}]*\}/gm) ?? []).join("\n");
  const names = texts.flatMap((text) =>
    [...text.matchAll(/^export (?:interface|type) (\w+)[^\n]*\n((?: [^\n]*\n|\n)*)/gm)].flatMap(
      ([, name = "", body = ""]) =>
        /\bbigint\b|Uint8Array/.test(body.replace(/^ *(\/\*)?\*.*$/gm, "")) && new RegExp(`\\b${name}\\b`).test(entries)
          ? [name]
          : [],
    ),
  );
  expect(names.length).toBeGreaterThan(40);
  expect([...new Set(names)].filter((name) => !(name in producers || OTHERS.includes(name)))).toEqual([]);
});
