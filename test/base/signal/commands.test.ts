import { getEventListeners } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { CanceledError, createClient, createTransaction, solveProofOfWork as solve } from "tradewire";
import { eventually } from "../../support/eventually.js";
import { failureOf } from "../../support/listing-clients.js";
import { serveNode, type TestNode } from "../../support/node.js";
import { sender, stopOrder } from "../../support/transactions.js";

/** More commands than the listeners of which Node warns at one signal. */
const COMMANDS = 50;

const never = () => new Promise<never>(() => undefined);
const block = { height: 7n, hash: "07".repeat(32), chainId: "test-1", difficulty: 1, hashFunction: "sha3_24_rounds" };

let begun = 0;
let node: TestNode;
beforeAll(async () => {
  node = await serveNode(
    {},
    {
      async lastBlockHeight(_, { signal }) {
        begun += 1;
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
        return {};
      },
    },
  );
});
afterAll(() => node.close());

/** Each waits for something that does not come, and counts in `begun` that it does. */
const waits: Record<string, () => AsyncDisposable & { act(signal: AbortSignal): Promise<unknown> }> = {
  "that are sent": () => {
    const client = createClient({ grpc: { url: node.grpcUrl }, limits: { callsPerSecond: 1000 } });
    return {
      act: (signal) => client.sendCommand(stopOrder(), { signer: sender, signal }),
      [Symbol.asyncDispose]: () => client.close(),
    };
  },
  "that are signed elsewhere": () => {
    const sign = () => {
      begun += 1;
      return never();
    };
    return {
      act: (signal) => createTransaction(stopOrder(), { signer: { ...sender, sign }, block, signal }),
      [Symbol.asyncDispose]: async () => undefined,
    };
  },
  "whose proof of work takes long": () => ({
    act: (signal) => {
      begun += 1;
      return solve({ blockHash: block.hash, tid: "t", difficulty: 256, threads: 1, signal });
    },
    [Symbol.asyncDispose]: async () => undefined,
  }),
};

describe("one signal ends many commands", () => {
  it.each(Object.entries(waits))("%s: they have one listener at it, and leave none", async (_, start) => {
    await using waiting = start();
    const abort = new AbortController();
    begun = 0;
    const failures = Array.from({ length: COMMANDS }, () => failureOf(() => waiting.act(abort.signal)));
    await eventually(() => begun > 0);
    expect(getEventListeners(abort.signal, "abort").length).toBe(1);
    abort.abort();
    for (const failure of await Promise.all(failures)) {
      expect(failure).toBeInstanceOf(CanceledError);
    }
    expect(getEventListeners(abort.signal, "abort").length).toBe(0);
  });
});
