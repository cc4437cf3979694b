import { expect, test } from "@jest/globals";
import { createClient, signerFromMnemonic } from "tradewire";
import { TradingDataService } from "tradewire/api";
import { startDevnode } from "tradewire/devnode";
import { eventually } from "../../support/eventually.js";
import { policyOf } from "../../support/guarded-node.js";
import { restingOrder } from "../../support/transactions.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

const BURST = 64;

test("none of a burst of commands is too old when the client's own rate limit lets it out", async () => {
  // A transaction may be tied to the last 100 blocks, and each call takes as long as two blocks: more than that for a burst.
  using runtime = useVirtualRuntime({ io: true });
  await using node = await startDevnode({ blockMs: 0 });
  const onCallEnd = () => {
    void node.makeBlock();
    void node.makeBlock();
  };
  await using client = createClient(
    { transport: "grpc", grpc: { url: node.grpcUrl }, limits: { callsPerSecond: 20 } },
    { hooks: { onCallEnd } },
  );
  const signer = await signerFromMnemonic(node.mnemonic);
  const sending = Array.from({ length: BURST }, () => client.sendCommand(restingOrder, { signer }));
  const sent = await runtime.until(Promise.all(sending));
  expect(sent.map(({ success }) => success)).toEqual(Array(BURST).fill(true));
});

test("a command that was canceled while it waited for its turn is not sent, and the others are", async () => {
  await using node = await startDevnode({ blockMs: 200 });
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const signer = await signerFromMnemonic(node.mnemonic);
  const canceled = new AbortController();
  const sending = Array.from({ length: 20 }, (_, index) =>
    client.sendCommand(restingOrder, { signer, signal: index % 2 === 0 ? undefined : canceled.signal }),
  );
  canceled.abort();
  const ended = await Promise.allSettled(sending);
  expect(ended.map(({ status }) => status)).toEqual(
    ended.map((_, index) => (index % 2 === 0 ? "fulfilled" : "rejected")),
  );
  const filter = { partyIds: [signer.publicKey] };
  await eventually(async () => {
    const { orders } = await client.service(TradingDataService).listOrders({ filter });
    return orders?.edges.length === 10;
  });
});

test("commands whose signer does not answer keep others of the key waiting for seconds only", async () => {
  using runtime = useVirtualRuntime({ io: true });
  await using node = await startDevnode({ blockMs: 1000 });
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const signer = await signerFromMnemonic(node.mnemonic);
  const silent = { publicKey: signer.publicKey, sign: () => new Promise<Uint8Array>(() => {}) };
  const over = new AbortController();
  const waiting = Array.from({ length: 8 }, () =>
    client.sendCommand(restingOrder, { signer: silent, signal: over.signal }),
  );
  const settled = Promise.allSettled(waiting);
  const startedAt = runtime.monotonicMs();
  await runtime.until(client.sendCommand(restingOrder, { signer }));
  expect(runtime.monotonicMs() - startedAt).toBeLessThan(10_000);
  over.abort();
  await settled;
});

test("a read is sent between submissions that wait for the client's own rate limit", async () => {
  await using node = await startDevnode({ blockMs: 0 });
  const signing = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, limits: { callsPerSecond: 10 } });
  const tx = await signing.signCommand(restingOrder, { signer: await signerFromMnemonic(node.mnemonic) });
  let answered = 0;
  const submitting = Array.from({ length: 30 }, () =>
    client.submitTransaction({ tx }, { throwOnRejection: false }).then(() => {
      answered += 1;
    }),
  );
  await client.lastBlockHeight();
  expect(answered).toBeLessThan(10);
  await Promise.allSettled(submitting);
  await signing.close();
});

test("a kill switch does not wait for the turn of commands that a block no longer allows", async () => {
  await using node = await startDevnode({ blockMs: 0 });
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const signer = await signerFromMnemonic(node.mnemonic);
  await using guard = await client.guard({ signer, policy: policyOf() });
  const over = new AbortController();
  const sending = Array.from({ length: BURST }, () =>
    client.sendCommand(restingOrder, { signer, signal: over.signal }),
  );
  const settled = Promise.allSettled(sending);
  await Promise.any(sending);
  const executed: (string | undefined)[] = [];
  const reading = (async () => {
    for await (const { value } of client.events({ types: ["transactionResult"] })) {
      executed.push(value.transaction.case);
      if (executed.at(-1) === "orderCancellation") {
        return;
      }
    }
  })();
  let isRead = false;
  void reading.then(() => {
    isRead = true;
  });
  const killing = guard.kill();
  await eventually(async () => {
    await node.makeBlock();
    return isRead;
  });
  expect(executed.length).toBeLessThan(BURST / 2);
  over.abort();
  guard.close();
  await Promise.allSettled([killing, settled]);
});
