import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import {
  type Client,
  ConnectionError,
  createClient,
  type Gap,
  type LiveEvent,
  SlowConsumerError,
  signerFromMnemonic,
} from "tradewire";
import { type Devnode, type DevnodeOptions, startDevnode } from "tradewire/devnode";
import { startCuttingProxy } from "../support/cutting-proxy.js";
import { eventOf } from "../support/event-server.js";
import { eventually, standsStill } from "../support/eventually.js";
import { freePort } from "../support/free-port.mjs";
import { startTalkingNode } from "../support/talking-node.js";
import { sample } from "../support/tier.js";
import { restingOrder, stopOrder } from "../support/transactions.js";
import { nodeRuntime, useRuntime } from "../support/virtual-runtime.js";
import { transports } from "./transports.js";

const retry = { baseMs: 10, maxMs: 50 };

/** Read until something is found, and leave the stream. What was read so far is in `read`. */
async function readUntil<T>(stream: AsyncIterable<T>, isFound: (item: T) => boolean, read: T[] = []): Promise<T[]> {
  for await (const item of stream) {
    read.push(item);
    if (isFound(item)) {
      break;
    }
  }
  return read;
}

const isGap = (item: LiveEvent | Gap): item is Gap => "gap" in item;
const isEvent = (item: LiveEvent | Gap): item is LiveEvent => !isGap(item);

/** Those that differ in how they carry streams. Of the others, the quick tier tries each test over one, by turns. */
const OWN_STREAMS = ["grpc", "grpc-js", "rest"];
const others = transports.filter(({ name }) => !OWN_STREAMS.includes(name));

describe.each(transports)("what a node tells live, over $name", ({ name, config }) => {
  let turn = 0;
  function tried(what: string, run: () => Promise<void>, own = OWN_STREAMS) {
    const isTried = own.includes(name) || sample(others, others.length, turn).some((one) => one.name === name);
    turn += 1;
    if (isTried) {
      test(what, run);
    }
  }

  /** A node behind proxies that can cut its connections, and a client that reaches it through them. */
  async function start(options: DevnodeOptions = {}) {
    const node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 40, ...options });
    const proxies = [await startCuttingProxy(node.grpcUrl), await startCuttingProxy(node.restUrl)];
    const [grpc, rest] = proxies.map(({ url }) => ({ url }));
    const client = createClient({
      ...config({ grpc: grpc ?? { url: "" }, rest: rest ?? { url: "" }, nowhere: "127.0.0.1:1" }),
      retry,
    });
    return {
      node,
      client,
      /** Cut all connections, and let none through until the client has tried it in vain, or has no reason to try it. */
      async cut(isOver: () => boolean = () => false) {
        const refused = () => proxies.reduce((sum, proxy) => sum + proxy.refused, 0);
        const before = refused();
        for (const proxy of proxies) {
          proxy.isDown = true;
          proxy.cut();
        }
        await eventually(() => refused() > before || isOver());
        for (const proxy of proxies) {
          proxy.isDown = false;
        }
      },
      async [Symbol.asyncDispose]() {
        await client.close();
        await Promise.all(proxies.map((proxy) => proxy[Symbol.asyncDispose]()));
        await node.close();
      },
    };
  }

  tried("is what happened, with its block and transaction", async () => {
    await using live = await start();
    using signer = await signerFromMnemonic(live.node.mnemonic);
    const read: LiveEvent[] = [];
    const reading = readUntil(
      live.client.events({ types: ["stopOrder", "beginBlock", "endBlock"], batchSize: 0 }),
      ({ kind: type }) => type === "stopOrder",
      read,
    );
    const leaving = new AbortController();
    const results: { readonly hash: string; readonly status: boolean }[] = [];
    const listening = readUntil(
      live.client.transactionResults({ partyIds: [signer.publicKey] }, { signal: leaving.signal }),
      () => false,
      results,
    );
    listening.catch(() => undefined);
    // Both streams are open once they have given something.
    const sent: string[] = [];
    await eventually(() => read.length > 0);
    await eventually(async () => {
      sent.push((await live.client.sendCommand(restingOrder, { signer, until: "executed" })).txHash);
      return results.length > 0;
    });
    const { txHash } = await live.client.sendCommand(stopOrder("9000000"), { signer });
    sent.push(txHash);
    const events = await reading;
    const last = events.at(-1);
    expect(last?.txHash.toUpperCase()).toBe(txHash);
    expect(last?.kind === "stopOrder" && last.value.stopOrder?.partyId).toBe(signer.publicKey);
    expect(events.map(({ block }) => block)).toEqual(
      events.map(({ block }) => block).toSorted((a, b) => Number(a - b)),
    );
    await eventually(() => results.at(-1)?.hash.toUpperCase() === txHash);
    leaving.abort();
    expect(results.map(({ hash }) => hash.toUpperCase())).toEqual(sent.slice(-results.length));
    expect(results.every(({ status }) => status)).toBe(true);
  });

  tried("ends with an error where the connection is lost, which says from where on events may be missing", async () => {
    await using live = await start();
    const read: LiveEvent[] = [];
    const reading = readUntil(live.client.events({ types: ["endBlock"] }), () => false, read);
    reading.catch(() => undefined);
    await eventually(() => read.length >= 3);
    await live.cut(() => true);
    const error: unknown = await reading.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(String(error)).toMatch(/events after block \d+ may be missing/);
  });

  tried("goes on after a lost connection, with a gap that holds all blocks that are missing", async () => {
    await using live = await start();
    const blocks: bigint[] = [];
    const gaps: Gap["gap"][] = [];
    const reading = (async () => {
      for await (const item of live.client.events({ types: ["endBlock"] }, { reconnect: true })) {
        if (isGap(item)) {
          gaps.push(item.gap);
        } else {
          blocks.push(item.block);
          if (gaps.length === 2 && blocks.length > 20) {
            return;
          }
        }
      }
    })();
    await eventually(() => blocks.length >= 3);
    await live.cut();
    await eventually(() => gaps.length > 0);
    await live.cut(() => true);
    await reading;
    expect(new Set(blocks).size).toBe(blocks.length);
    for (let block = blocks[0] ?? 0n; block < (blocks.at(-1) ?? 0n); block += 1n) {
      const isMissing = gaps.some(({ afterBlock = 0n, beforeBlock }) => afterBlock < block && block < beforeBlock);
      expect(blocks.includes(block) || isMissing).toBe(true);
    }
  });

  tried("goes on where the node is started again", async () => {
    const folder = await mkdtemp(join(tmpdir(), "tradewire-live-"));
    const ports = { grpcPort: await freePort(), restPort: await freePort() };
    const settings = { segments: 1, blocksPerSegment: 10, blockMs: 40, dataDir: folder, ...ports };
    let node: Devnode = await startDevnode(settings);
    const endpoints = { grpc: { url: node.grpcUrl }, rest: { url: node.restUrl }, nowhere: "127.0.0.1:1" };
    const client: Client = createClient({ ...config(endpoints), retry });
    const items: (LiveEvent | Gap)[] = [];
    const results: unknown[] = [];
    const reading = (async () => {
      for await (const item of client.events({ types: ["endBlock"] }, { reconnect: true })) {
        items.push(item);
        if (items.some(isGap) && isEvent(item)) {
          return;
        }
      }
    })();
    const listening = readUntil(client.transactionResults({}, { reconnect: true }), (item) => {
      results.push(item);
      return results.length === 3;
    });
    using signer = await signerFromMnemonic(node.mnemonic);
    const until = "executed";
    await client.sendCommand(restingOrder, { signer, until });
    await eventually(() => results.length === 1); // It comes on a stream of its own.
    await node.close();
    node = await startDevnode(settings);
    await reading;
    for (let isOver = false, tries = 0; !isOver; tries += 1) {
      expect(tries).toBeLessThan(100);
      const again = await client.sendCommand(restingOrder, { signer, until }).catch(() => undefined);
      isOver = again?.outcome.status === "executed" && results.length === 3;
    }
    await listening;
    const [before, gap, after] = [items.filter(isEvent).at(-2), items.find(isGap)?.gap, items.filter(isEvent).at(-1)];
    expect(gap?.afterBlock).toBe((before?.block ?? 0n) - 1n);
    expect(gap?.beforeBlock).toBe((after?.block ?? 0n) + 1n);
    expect(results[1]).toEqual({ gap: { afterBlock: undefined, beforeBlock: undefined } });
    await client.close();
    await node.close();
    await rm(folder, { recursive: true });
  });

  tried("is held back by a slow consumer, who gets all that waits, and then an error of its own", async () => {
    const TOTAL = 5000;
    let sent = 0;
    let isOver = false;
    await using node = await startTalkingNode(async function* () {
      for (let block = 1; !isOver && block < TOTAL; block += 1) {
        yield { events: [eventOf(`${block}-1`, { txHash: "f".repeat(10_000) })] };
        sent = block;
      }
    });
    const endpoints = {
      grpc: { url: node.grpcUrl, windowBytes: 65_535 },
      rest: { url: node.restUrl },
      nowhere: "127.0.0.1:1",
    };
    await using client = createClient({ ...config(endpoints), retry });
    let lateMs = 0;
    using _ = useRuntime({ monotonicMs: () => nodeRuntime.monotonicMs() + lateMs });
    const read: bigint[] = [];
    const reading = (async () => {
      for await (const event of client.events({}, { maxWaiting: 10, reconnect: true })) {
        read.push("gap" in event ? 0n : event.block);
        if (read.length === 1) {
          await standsStill(() => sent);
          lateMs = 150; // A consumer counts as slow that keeps the stream waiting for 100 ms.
          isOver = true;
        }
      }
    })();
    await expect(reading).rejects.toThrow(SlowConsumerError);
    expect(sent).toBeLessThan(TOTAL / 2);
    expect(read).toEqual(Array.from({ length: sent }, (_, at) => BigInt(at + 1)));
  });

  tried("tells what became of a transaction, also where the connection was lost meanwhile", async () => {
    await using live = await start({ blockMs: 0 });
    using signer = await signerFromMnemonic(live.node.mnemonic);
    const until = "executed";
    const blocks = setInterval(() => void live.node.makeBlock(), 30); // The time between two blocks.
    try {
      await live.client.sendCommand(restingOrder, { signer, until });
      const first = await live.client.sendCommand(stopOrder("9000000"), { signer, until });
      expect(first.outcome).toMatchObject({ status: "executed", parts: [{ path: "risesAbove", status: "executed" }] });
      let isSettled = false;
      const second = live.client
        .sendCommand(stopOrder("9000001"), { signer, until })
        .catch((reason: unknown) => reason)
        .finally(() => (isSettled = true));
      await live.node.makeBlock();
      await live.cut(() => isSettled);
      const sent = await second;
      // The cut may come before it is sent, while it is, or afterwards.
      if (!(sent instanceof ConnectionError)) {
        const status = expect.stringMatching(/executed|unknown/);
        expect(sent).toMatchObject({ outcome: { status } });
      }
      const third = await live.client.sendCommand(stopOrder("9000002"), { signer, until });
      expect(third.outcome).toMatchObject({ status: "executed" });
    } finally {
      clearInterval(blocks);
    }
  });

  tried("goes on from history: each row once, and new segments as they come", async () => {
    await using live = await start({ blockMs: 10, activity: 2 });
    const given: unknown[] = [];
    let segments = 0;
    let cuts = 0;
    for await (const { rows, complete } of live.client.follow({ table: "trades", fromBlock: 1n }, { pollMs: 50 })) {
      given.push(...rows);
      segments += complete ? 1 : 0;
      if (segments === 2 && cuts === 0) {
        cuts += 1;
        await live.cut(() => true);
      }
      if (segments === 4) {
        break;
      }
    }
    const all: unknown[] = [];
    for await (const { row } of rowsOf(live.client, segments * 10)) {
      all.push(row);
    }
    expect(given).toEqual(all);
    expect(given.length).toBeGreaterThan(0);
  }, ["rest"]); // History is asked for by calls.
});

async function* rowsOf(client: Client, toBlock: number) {
  const exported = client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock });
  for await (const row of exported.rows()) {
    yield { row };
  }
}
