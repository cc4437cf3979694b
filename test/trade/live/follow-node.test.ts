import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Client, createClient, type FollowEvent, type FollowOptions, NodeError, RequestError } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { freePort } from "../../support/free-port.mjs";
import { taken } from "../../support/taken.js";

const BLOCKS = 10;
const settings = { blockMs: 0, segments: 3, blocksPerSegment: BLOCKS, activity: 3, schemaVersions: [115, 115, 116] };

async function makeSegment(node: Devnode): Promise<void> {
  for (let block = 0; block < BLOCKS; block += 1) {
    await node.makeBlock();
  }
}

const clientOf = (node: Devnode, transport: "grpc" | "grpc-js" | "rest" = "grpc") =>
  createClient({ transport, grpc: { url: node.grpcUrl }, rest: { url: node.restUrl }, retry: { tries: 1 } });

/** All rows of the first segments, each with the columns of its own file. */
async function exported(client: Client, segments: number) {
  const request = { table: "trades", fromBlock: 1, toBlock: segments * BLOCKS } as const;
  const { values, error } = await taken(client.exportNetworkHistory(request).rows());
  expect([error, values.length > 50]).toEqual([undefined, true]);
  return values;
}

/** Follow the trades of so many segments. */
async function rowsOf(client: Client, segments: number, options: FollowOptions = {}) {
  const { values, error } = await taken(client.follow({ table: "trades", toBlock: segments * BLOCKS }, options));
  return { rows: values.flatMap(({ rows }) => rows), error, cursors: values.map(({ cursor }) => cursor) };
}

describe.each(["grpc", "grpc-js", "rest"] as const)("a follow of a node over %s", (transport) => {
  let node: Devnode;
  let client: Client;
  beforeAll(async () => {
    node = await startDevnode(settings);
    client = clientOf(node, transport);
  });
  afterAll(async () => {
    await client.close();
    await node.close();
  });

  it("is the export of the whole, across schema versions, broken answers and new segments", async () => {
    const failure = { method: "ExportNetworkHistory" };
    node.failNext({ ...failure, with: "cut", afterBytes: 700 });
    node.failNext({ ...failure, with: "error-after-archive" });
    node.failNext({ ...failure, with: "INTERNAL", afterBytes: 400 });
    node.failNext({ ...failure, with: "NOT_FOUND" });
    node.failNext({ method: "ListAllNetworkHistorySegments", with: "UNAVAILABLE" });
    const events: FollowEvent["kind"][] = [];
    let made: Promise<void> | undefined;
    const onEvent = ({ kind: what }: FollowEvent) => {
      events.push(what);
      if (what === "idle") {
        made ??= makeSegment(node).then(() => makeSegment(node));
      }
    };
    const { rows, error } = await rowsOf(client, 5, { pollMs: 20, onEvent });
    await made;
    expect(error).toBeUndefined();
    expect(rows).toEqual(await exported(client, 5));
    expect(Object.keys(rows[0] ?? {}).length).toBeLessThan(Object.keys(rows.at(-1) ?? {}).length);
    expect(events.filter((what) => what === "waiting").length).toBe(5);
    expect(events).toContain("idle");
  });

  it("stops where the node refuses for good, and goes on from the cursor", async () => {
    const all = await exported(client, 3);
    const first = await rowsOf(client, 1);
    for (const code of ["UNAUTHENTICATED", "UNIMPLEMENTED"]) {
      node.failNext({ method: "ExportNetworkHistory", with: code });
      expect((await rowsOf(client, 3, { cursor: first.cursors.at(-1) })).error).toBeInstanceOf(NodeError);
    }
    const { rows } = await rowsOf(client, 3, { cursor: first.cursors.at(-1) });
    expect([...first.rows, ...rows]).toEqual(all);
  });

  it("types the rows as an export does", async () => {
    const request = { table: "trades", fromBlock: 1, toBlock: 20 } as const;
    const typed = client.follow({ table: "trades", toBlock: 20 }, { typed: true });
    const rows = (await taken(typed)).values.flatMap((item) => item.rows);
    expect(rows).toEqual((await taken(client.exportNetworkHistory(request).rows({ typed: true }))).values);
    expect(typeof rows[0]?.price).toBe("bigint");
  });
});

it("goes on where the node was stopped and started again meanwhile", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "follow-"));
  const grpcPort = await freePort();
  let node = await startDevnode({ ...settings, dataDir, grpcPort });
  await using client = clientOf(node);
  let [restart, stops]: [Promise<unknown> | undefined, number] = [undefined, 0];
  const onEvent = ({ kind: what }: FollowEvent) => {
    if (what === "idle" && stops < 2) {
      stops += 1;
      restart = makeSegment(node)
        .then(() => node.close())
        .then(async () => {
          node = await startDevnode({ ...settings, dataDir, grpcPort });
        });
    }
  };
  const { rows, error } = await rowsOf(client, 5, { pollMs: 5, onEvent });
  await restart;
  expect([error, stops]).toEqual([undefined, 2]);
  expect(rows).toEqual(await exported(client, 5));
  await node.close();
  await rm(dataDir, { recursive: true });
});

it("refuses a cursor of another chain, and of another history of the same chain", async () => {
  await using node = await startDevnode(settings);
  await using client = clientOf(node);
  const { cursors } = await rowsOf(client, 2);
  const cursor = cursors.at(-1);
  await using other = await startDevnode({ ...settings, chainId: "other" });
  await using ofOther = clientOf(other);
  const refused = await rowsOf(ofOther, 3, { cursor });
  expect(refused.error).toBeInstanceOf(RequestError);
  expect(String(refused.error)).toContain(
    'the node is on chain "other", but the cursor belongs to chain "tradewire-devnet"',
  );
  await using reset = await startDevnode({ ...settings, genesis: { trades: [] } });
  await using ofReset = clientOf(reset);
  const { rows, error } = await rowsOf(ofReset, 3, { cursor });
  expect(rows).toEqual([]);
  expect(String(error)).toMatch(
    /the histories diverge: the segment 11 to 20 \("\w+"\) was followed, but the node has the/,
  );
});

it("ends with the client, also while it waits for the node", async () => {
  await using node = await startDevnode(settings);
  const client = clientOf(node);
  let closed: Promise<void> | undefined;
  const onEvent = ({ kind: what }: FollowEvent) => {
    closed ??= what === "idle" ? client.close() : undefined;
  };
  const { rows, error } = await rowsOf(client, 4, { pollMs: 1, onEvent });
  await closed;
  expect(rows.length).toBeGreaterThan(50);
  expect(String(error)).toContain("the client is closed, so nothing was sent");
});
