// Everything that must be closed has `close()` and `await using`, with one meaning.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  type Client,
  type ClosableTransport,
  connectSigner,
  createClient,
  createTransport,
  type Journal,
  openFileJournal,
  readConfig,
  type SignerServer,
  serveSigner,
  signerFromSeed,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { createSyncState, duckdbSink, parquetSink, postgresSink, startWatch } from "tradewire/sync";
import {
  closing,
  createGrpcJsTransport,
  createGrpcTransport,
  createPace,
  createRestTransport,
  fallback,
  idleLimited,
  limited,
  paced,
  withHooks,
  withOurErrors,
} from "tradewire/transport";
import { openMarket } from "../support/devnode.js";
import { testGuard } from "../support/served-signer.js";

interface Closable extends AsyncDisposable {
  close(): void | Promise<void>;
}

const seed = "3f".repeat(32);
const bytes = new Uint8Array([1]);
let folder: string;
let node: Devnode;
let client: Client;
let journal: Journal;
let served: SignerServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-closables-"));
  node = await startDevnode({ blockMs: 0, segments: 1, blocksPerSegment: 10 });
  client = createClient({ grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } });
  journal = await openFileJournal(join(folder, "orders.journal"));
  served = await serveSigner({ guard: testGuard(signerFromSeed(seed)), chainId: node.chainId, listen: socket() });
});
afterAll(async () => {
  await served.close();
  await journal.close();
  await client.close();
  await node.close();
  await rm(folder, { recursive: true });
});

const marketIds = (transport: ClosableTransport) =>
  transport.unary(TradingDataService.method.listMarkets, undefined, undefined, undefined, {});
const rest = () => createRestTransport({ url: node.restUrl });
const socket = () => join(folder, "served.sock");
const endpoint = () => ({ name: "rest", url: node.restUrl });
const refusesCalls = { of: marketIds, with: /closed/ };

/** Makes one of each, and what an open one does and a closed one refuses. */
interface Producer<T extends Closable> {
  make(): T | Promise<T>;
  readonly refused?: { of(made: T): unknown; readonly with: RegExp };
}
const producer = <T extends Closable>(make: Producer<T>["make"], refused?: Producer<T>["refused"]) => ({
  async run() {
    const both = [await make(), await make()] as const;
    const [closed, disposed] = both;
    await closed.close();
    await closed.close();
    await closed[Symbol.asyncDispose]();
    {
      await using unused = disposed;
      void unused;
    }
    await disposed.close();
    for (const made of both) {
      if (refused !== undefined) {
        await expect((async () => refused.of(made))()).rejects.toThrow(refused.with);
      }
    }
  },
});

let number = 0;
const place = (name: string) => join(folder, `${name}-${number++}`);

const producers: Readonly<Record<string, { run(): Promise<void> }>> = {
  Client: producer(() => createClient({ grpc: { url: node.grpcUrl } }), {
    of: (made) => made.listSegments(),
    with: /closed/,
  }),
  Devnode: producer(() => startDevnode({ blockMs: 0, segments: 1, blocksPerSegment: 10 }), {
    of: ({ restUrl }) => fetch(restUrl),
    with: /fetch failed/,
  }),
  Guard: producer(
    () => {
      const limits = { maxSize: "1", maxNotional: "1", maxPosition: "1" };
      const policy = { maxOrdersPerMinute: 10, markets: { [openMarket]: limits } };
      return client.guard({ signer: signerFromSeed(seed), policy });
    },
    { of: (made) => made.sign(bytes), with: /the guard was closed/ },
  ),
  Journal: producer(() => openFileJournal(place("journal")), {
    of: (made) => made.append("a", "b", { position: 0, isLast: false }),
    with: /was closed/,
  }),
  Leases: producer(() => client.leases({ signer: signerFromSeed(seed), leaseMs: 60_000 }), {
    of: (made) => made.release(),
    with: /canceled/,
  }),
  Intents: producer(() => client.intents({ signer: signerFromSeed(seed), journal })),
  Pace: producer(() => createPace(10, {}), { of: (made) => made.checkOpen(), with: /closed/ }),
  RemoteSigner: producer(() => connectSigner(socket()), {
    of: (made) => made.sign(bytes),
    with: /closed/,
  }),
  SeedSigner: producer(() => signerFromSeed(seed), { of: (made) => made.sign(bytes), with: /was closed/ }),
  SignerServer: producer(() => {
    const listen = place("signer");
    return serveSigner({ guard: testGuard(signerFromSeed(seed)), chainId: node.chainId, listen });
  }),
  Watch: producer(() => startWatch({ listen: "127.0.0.1:0", state: createSyncState() }), {
    of: ({ url }) => fetch(url),
    with: /fetch failed/,
  }),
  ...Object.fromEntries(
    Object.entries({
      ClosableTransport: () => createTransport(readConfig({ rest: { url: node.restUrl } })),
      grpc: () => createGrpcTransport({ url: node.grpcUrl }),
      "grpc-js": () => createGrpcJsTransport({ url: node.grpcUrl }),
      rest,
      closing: () => closing(rest(), "rest"),
      fallback: () => fallback([{ name: "rest", transport: rest() }]),
      idleLimited: () => idleLimited(rest(), 1000),
      limited: () => limited(rest(), { url: node.restUrl, timeouts: { callMs: 60_000 } }),
      paced: () => paced(rest(), createPace(10, {}), () => true),
      withHooks: () => withHooks(rest(), endpoint(), {}),
      withOurErrors: () => withOurErrors(rest(), endpoint()),
    }).map(([name, make]) => [name, producer(make, refusesCalls)]),
  ),
  ...Object.fromEntries(
    Object.entries({
      Sink: () => duckdbSink(place("history")),
      parquet: () => parquetSink(place("history")),
      PostgresSink: () => postgresSink("postgres://127.0.0.1:1/none"),
    }).map(([name, make]) => [name, producer(make, { of: (made) => made.countRows({} as never), with: /./ })]),
  ),
};

describe("close() and await using do the same, once or several times:", () => {
  it.each(Object.entries(producers))("%s", (_, { run }) => run());
});

it("no public interface has one without the other, and each is tested above", async () => {
  const sources = (await readdir("src", { recursive: true })).filter((name) => name.endsWith(".ts"));
  const texts = await Promise.all(sources.map((name) => readFile(join("src", name), "utf8")));
  const indexes = texts.filter((_, index) => /(^|\/)index\.ts$/.test(sources[index] ?? ""));
  const entries = indexes.flatMap((text) => text.match(/^export (?:type )?\{[^}]*\}/gm) ?? []).join("\n");
  const found = texts.flatMap((text) =>
    [...text.matchAll(/^export interface (\w+)(?:<.*>)?((?:.|\n)*?) \{\n((?:.|\n)*?)^\}/gm)].flatMap(
      ([, name = "", bases = "", body = ""]) => {
        const isPublic = new RegExp(`\\b${name}\\b`).test(entries) || name === "Devnode";
        const has = { close: /^ {2}close\(\): /m.test(body), disposal: /\bAsyncDisposable\b/.test(bases) };
        return isPublic && (has.close || has.disposal) ? [{ name, ...has }] : [];
      },
    ),
  );
  const names = new Set(found.map(({ name }) => name));
  expect(found.filter((each) => !each.close || !each.disposal)).toEqual([]);
  expect([...names].filter((name) => !(name in producers))).toEqual([]);
  expect(names.size).toBeGreaterThan(10);
});
