import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { CanceledError, createClient, NodeError } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import type { SyncEvent } from "tradewire/sync";
import { kinds, type Syncing, settings, startSyncing } from "../support/syncing.js";

let syncing: Syncing;

beforeEach(async () => {
  syncing = await startSyncing();
});

afterEach(async () => {
  await syncing[Symbol.asyncDispose]();
});

it("tries again what the network, the archive or the node spoils, and gives up what stays so", async () => {
  const failure = { method: "ExportNetworkHistory" };
  syncing.node.failNext({ ...failure, with: "cut", afterBytes: 300 });
  syncing.node.failNext({ ...failure, with: "error-after-archive" });
  syncing.node.failNext({ ...failure, with: "INTERNAL" });
  syncing.node.failNext({ ...failure, with: "NOT_FOUND" });
  const { done, events } = syncing.sync({ parallel: 1 });
  const { units, failed } = await done;
  expect(units).toBe(7);
  expect(failed).toMatchObject([{ unit: { table: "trades", fromBlock: 1n }, error: expect.any(NodeError) }]);
  const failures = events.flatMap((event) =>
    event.kind === "failed" ? [[event.attempt, event.againMs !== undefined]] : [],
  );
  expect(failures).toEqual([
    [1, true],
    [2, true],
    [3, true],
    [4, false],
  ]);
  expect(await syncing.sync().done).toMatchObject({ units: 1, failed: [] });
  await syncing.expectAll("trades");
});

it("stops where the node refuses everybody, and leaves nothing", async () => {
  syncing.node.failNext({ method: "ExportNetworkHistory", with: "UNAUTHENTICATED" });
  await expect(syncing.sync().done).rejects.toMatchObject({ name: "NodeError", object: { code: 16 } });
  expect(await syncing.sync().done).toMatchObject({ failed: [] });
  await syncing.expectAll("blocks");
});

it("stops where the client was closed, as no wait can help", async () => {
  const client = createClient({ grpc: { url: syncing.node.grpcUrl } });
  const onEvent = ({ kind }: SyncEvent) => {
    if (kind === "began") {
      void client.close();
    }
  };
  const { done, events } = syncing.sync({ parallel: 1, hooks: { onEvent } }, client);
  await expect(done).rejects.toMatchObject({ name: "ConnectionError", isClosed: true });
  expect(kinds(events)).not.toContain("waiting");
});

it.each(["grpc", "grpc-js", "rest"] as const)(
  "says at once what to do where the list is over the limit: %s",
  async (transport) => {
    const { grpcUrl, restUrl } = syncing.node;
    const limits = { maxMessageBytes: 300, maxJsonBytes: 300 };
    await using client = createClient({ transport, grpc: { url: grpcUrl }, rest: { url: restUrl }, limits });
    const { done, events } = syncing.sync({}, client);
    await expect(done).rejects.toThrow(
      /^a message is larger than the limit.*\nThe message (has \d+ bytes, which )?exceeds the limit of 300 bytes\. If this size is expected, raise limits\.max(Message|Json)Bytes/,
    );
    expect(events).toEqual([]);
  },
);

it("waits for a node that is away, and gives up after its patience", async () => {
  const port = Number(new URL(syncing.node.grpcUrl).port);
  const client = syncing.clientOf();
  let down: Promise<unknown> | undefined;
  let restarted = false;
  const { done, events } = syncing.sync(
    {
      parallel: 2,
      hooks: {
        onEvent(event) {
          if (event.kind === "loaded" && down === undefined) {
            down = syncing.node.close();
          } else if (event.kind === "waiting" && !restarted) {
            restarted = true;
            down = down?.then(async () => {
              syncing.node = await startDevnode({ ...settings, grpcPort: port });
            });
          }
        },
      },
    },
    client,
  );
  expect(await done).toMatchObject({ units: 8, failed: [] });
  await down;
  expect(kinds(events)).toContain("waiting");
  await syncing.expectAll("trades");

  await syncing.node.close();
  const given = syncing.sync({ retryForMs: 700 }, client);
  await expect(given.done).rejects.toMatchObject({ name: "ConnectionError" });
  expect(kinds(given.events)).toContain("waiting");
});

it("goes on with another node where one is away", async () => {
  await using other = await startDevnode(settings);
  await using deadLetters = await startDevnode(settings);
  const [one, two, three] = [
    syncing.clientOf(),
    syncing.clientOf(other.grpcUrl),
    syncing.clientOf(deadLetters.grpcUrl),
  ];
  const named = [one, two, three].map((client, index) => ({
    name: `n${index + 1}`,
    exportNetworkHistory: client.exportNetworkHistory.bind(client),
    listSegments: client.listSegments.bind(client),
  }));
  const { done, events } = syncing.sync(
    { parallel: 3, hooks: { onEvent: (event) => void (event.kind === "planned" && deadLetters.close()) } },
    named,
  );
  expect(await done).toMatchObject({ units: 8, failed: [] });
  const asked = new Set(events.flatMap((event) => (event.kind === "began" ? [event.node] : [])));
  expect([asked.has("n1"), asked.has("n2")]).toEqual([true, true]);
  expect(kinds(events)).not.toContain("waiting");
  await syncing.expectAll("blocks");
});

it("gives up what is under way when its signal is aborted", async () => {
  const ending = new AbortController();
  const onEvent = (event: SyncEvent) => void (event.kind === "arrived" && ending.abort());
  await expect(syncing.sync({ signal: ending.signal, hooks: { onEvent } }).done).rejects.toThrow(CanceledError);
  expect(await syncing.sync().done).toMatchObject({ units: 8 });
});
