import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Client } from "pg";
import { createClient } from "tradewire";
import type { Devnode } from "tradewire/devnode";
import { postgresSink, queueStatus, syncHistory } from "tradewire/sync";
import {
  differences,
  type QueuePlace,
  startCountingNode,
  startProgram,
  startQueuePlace,
  TIMINGS,
} from "../../support/queue.js";

let place: QueuePlace;
let node: Devnode;
let url: string;
let client: Client;
beforeAll(async () => {
  place = await startQueuePlace(6);
  ({ node, url, client } = place);
  await using source = createClient({ grpc: { url: node.grpcUrl } });
  await syncHistory(source, { sink: postgresSink(url, { schema: "expected" }) });
});
afterAll(async () => {
  await place[Symbol.asyncDispose]();
});

describe("workers of a queue", () => {
  it("load all units once, whoever is killed, and never have more exports under way than they may", async () => {
    const schema = "killed";
    await using counting = await startCountingNode(node.grpcUrl, {
      before: () => new Promise((r) => setTimeout(r, 30)), // Exports last long enough to overlap.
    });
    const options = { postgres: url, schema, grpcUrl: counting.url };
    const limits = { timings: TIMINGS, parallel: 2, exportsPerNode: 3, countExports: false };
    const workers = await Promise.all([1, 2, 3, 4].map(() => startProgram("worker", { ...options, options: limits })));
    const planner = await startProgram("planner", { ...options, options: { timings: TIMINGS, tables: undefined } });
    // On a busy machine one of them may find nothing left to do.
    const first = await Promise.race(workers.map((worker) => worker.saying("loaded", 2).then(() => worker)));
    first.child.kill("SIGKILL");
    const others = workers.filter((worker) => worker !== first);
    const second = await Promise.race(others.map((worker) => worker.saying("began", 3).then(() => worker)));
    second.child.kill("SIGKILL");
    await planner.ended;
    expect(planner.said.at(-1)).toMatchObject({ kind: "ended", summary: { failed: [], units: 90 } });
    expect(await differences(client, "expected", schema)).toEqual({});
    expect(counting.most()).toBe(3);
    expect(counting.listings()).toBeLessThanOrEqual(5); // The planner's, and one of each worker.
    for (const worker of others.filter((other) => other !== second)) {
      worker.child.kill("SIGTERM");
      await worker.ended;
      expect(worker.said.at(-1)).toMatchObject({ kind: "ended" });
    }
    const loaded = workers.flatMap(({ said }) => said.filter((event) => event.kind === "loaded")).length;
    expect(loaded).toBeGreaterThanOrEqual(86); // What a killed worker has loaded it may not have told.
    const status = await queueStatus(postgresSink(url, { schema }));
    expect(status).toMatchObject({ waiting: 0, backoff: 0, underWay: [], deadLetters: [] });
    expect(status?.workers).toHaveLength(2); // Those that were killed.
  });
});
