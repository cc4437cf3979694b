import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { run } from "../support/command.js";
import { startTalkingNode, type TalkingNode } from "../support/talking-node.js";

let node: TalkingNode;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-talk-"));
  node = await startTalkingNode(async function* (requests, { signal }) {
    for await (const { marketId, partyId } of requests) {
      yield { events: [{ id: `${marketId}/${partyId}` }] };
    }
    await sleep(600_000, undefined, { signal }).catch(() => undefined); // Until the call is over.
  });
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const METHOD = "TradingDataService/ObserveEventBus";

describe.each(["grpc", "rest"])("call of a method that streams its requests, over %s", (way) => {
  const to = () => [way === "grpc" ? "--grpc-url" : "--rest-url", way === "grpc" ? node.grpcUrl : node.restUrl];
  const ids = (out: string) =>
    out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).events[0].id);

  it("sends what it is given, in order, and prints a line for each answer", async () => {
    const data = ["-d", '{"marketId": "a"}', "-d", '{"marketId": "b"}', '{"market_id": "c"}'];
    const { code, out, err } = await run(["call", METHOD, ...data, "--set", "partyId=p", "--limit", "3", ...to()]);
    expect([code, err]).toEqual([0, ""]);
    expect(ids(out)).toEqual(["a/p", "b/p", "c/p"]);
    expect(ids((await run(["call", METHOD, "--limit", "1", ...to()])).out)).toEqual(["/"]);
  });

  it("sends each line of a file", async () => {
    await writeFile(join(folder, "lines"), '{"marketId": "a"}\n\n{"marketId": "ü"}\r\n{"marketId": "c"}');
    const { code, out } = await run(["call", METHOD, `@${join(folder, "lines")}`, "--limit", "3", ...to()]);
    expect(code).toBe(0);
    expect(ids(out)).toEqual(["a/", "ü/", "c/"]);
  });

  it("is ended by a line that is no request, which it names", async () => {
    await writeFile(join(folder, "bad"), '{"marketId": "a"}\n{"marketld": "b"}\n');
    const { code, err } = await run(["call", METHOD, `@${join(folder, "bad")}`, ...to()]);
    expect(code).toBe(2);
    expect(err).toMatch(/^tradewire: .*unknown field "marketld"/);
    await writeFile(join(folder, "bad"), '{"marketId": "a"}\nno\n');
    const { err: other } = await run(["call", METHOD, `@${join(folder, "bad")}`, ...to()]);
    expect(other).toMatch(/^tradewire: line 2 of \S+ is not valid JSON/);
  });
});
