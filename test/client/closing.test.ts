import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import {
  CanceledError,
  createClient,
  type LeaseEvent,
  OutcomeUnknownError,
  openFileJournal,
  signerFromMnemonic,
} from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { openMarket } from "../support/devnode.js";
import { limitOrder } from "../support/leases.js";
import { stopOrder } from "../support/transactions.js";
import { useVirtualRuntime } from "../support/virtual-runtime.js";

it("leases, guards and intents end with their client", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-closing-"));
  using runtime = useVirtualRuntime({ io: true });
  await using node = await startDevnode({ blockMs: 1000, segments: 1, blocksPerSegment: 10 });
  await runtime.pass(2000); // The time of the first block is that of the runtime.
  const client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const signerOf = (index: number) => signerFromMnemonic(node.mnemonic, { index });
  using first = await signerOf(1);
  using second = await signerOf(2);
  using third = await signerOf(3);
  await using journal = await openFileJournal(join(folder, "orders.journal"));
  const events: LeaseEvent[] = [];
  const leases = client.leases({ signer: first, leaseMs: 60_000, onEvent: (event) => void events.push(event) });
  await runtime.until(leases.submit(limitOrder()));
  const policy = {
    maxOrdersPerMinute: 10,
    markets: { [openMarket]: { maxSize: "1", maxNotional: "1", maxPosition: "1" } },
  };
  const guard = await runtime.until(client.guard({ signer: second, policy }));
  const intents = client.intents({ signer: third, journal });
  await runtime.until(intents.submit(stopOrder(), { id: "executed" }));
  node.failNext({ method: "SubmitTransaction", with: "UNAVAILABLE", times: 1000 });
  const open = intents.submit(stopOrder(), { id: "open" }).catch((reason: unknown) => reason);
  await runtime.pass(5000);
  await client.close();
  const before = events.length;
  await runtime.pass(120_000);
  expect(events.slice(before)).toEqual([]);
  expect(await runtime.until(open)).toBeInstanceOf(OutcomeUnknownError);
  expect(await runtime.until(journal.open())).toEqual(["open"]);
  await expect(leases.submit(limitOrder())).rejects.toThrow(CanceledError);
  await expect(guard.sign(new Uint8Array(1))).rejects.toThrow("the guard was closed");
  await expect(intents.submit(stopOrder(), { id: "later" })).rejects.toThrow(CanceledError);
  await node.close();
  expect(runtime.refs()).toBe(0);
  await rm(folder, { recursive: true });
});
