import { afterAll, beforeAll, expect, it } from "@jest/globals";
import * as tradewire from "tradewire";
import { TradewireError } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import * as sync from "tradewire/sync";
import * as transport from "tradewire/transport";

/** What plain JavaScript may give in the place of anything. No path has the text's character. */
const WRONG: readonly unknown[] = [undefined, null, {}, [], "\0", 1, 1n];

let node: Devnode;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
});
afterAll(() => node.close());

/** Use what a function gives: its promise, some of its values. */
async function used(given: unknown): Promise<void> {
  const value = await given;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) {
    return;
  }
  if (Symbol.asyncIterator in value) {
    const iterator = Object(value)[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.return?.();
  }
}

/** Call functions with all wrong values, alone and in pairs, and list what was thrown that is no error of the library. */
async function foreignErrors(functions: object, without: readonly string[] = []): Promise<string[]> {
  const found = new Set<string>();
  for (const [name, call] of Object.entries(functions)) {
    if (typeof call !== "function" || without.includes(name) || /^class\b/.test(String(call))) {
      continue;
    }
    for (const given of WRONG.flatMap((first) => [[first], ...WRONG.map((second) => [first, second])])) {
      try {
        await used(Reflect.apply(call, functions, given));
      } catch (reason) {
        if (!(reason instanceof TradewireError) || /Cannot (read|destructure)/.test(reason.message)) {
          found.add(`${name}: ${reason}`);
        }
      }
    }
  }
  return [...found];
}

it("the library's functions refuse wrong values with errors of their own", async () => {
  expect(await foreignErrors(tradewire)).toEqual([]);
});

it("so do those that make transports", async () => {
  const { createGrpcTransport, createGrpcJsTransport, createRestTransport, fallback } = transport;
  const makers = { createGrpcTransport, createGrpcJsTransport, createRestTransport, fallback };
  expect(await foreignErrors(makers)).toEqual([]);
});

it("so do those of sync", async () => {
  const { syncHistory, syncStatus, verifySync, planHistory, queueSync, queueStatus, runWorker } = sync;
  const { duckdbSink, parquetSink, postgresSink } = sync;
  const all = { syncHistory, syncStatus, verifySync, planHistory, queueSync, queueStatus, runWorker };
  expect(await foreignErrors({ ...all, duckdbSink, parquetSink, postgresSink })).toEqual([]);
});

it("so do the methods of a client, of its exports, and of its services", async () => {
  await using client = tradewire.createClient({ grpc: { url: node.grpcUrl }, retry: { tries: 1 } });
  const { transport: _, close, follow, events, transactionResults, outcome, ...methods } = client;
  expect(await foreignErrors(methods)).toEqual([]);
  // Without the calls that wait for what comes.
  const observing = { follow, events, transactionResults };
  const failures = await foreignErrors(
    Object.fromEntries(
      Object.entries(observing).map(([name, observe]) => [
        name,
        (...given: unknown[]) => void Reflect.apply(observe, client, given),
      ]),
    ),
  );
  expect(failures).toEqual([]);
  const exported = client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 10 });
  const { saveTo, rows } = exported;
  expect(await foreignErrors({ saveTo, rows })).toEqual([]);
  const { listOrders, observeTrades } = client.service(TradingDataService);
  const observeNone: typeof observeTrades = (request, options) => {
    observeTrades(request, options);
    return { async *[Symbol.asyncIterator]() {} };
  };
  expect(await foreignErrors({ listOrders, observeNone })).toEqual([]);
});
