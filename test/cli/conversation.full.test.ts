import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { main, shell } from "../support/command-process.js";
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

  it("sends each line of standard input when it comes, and ends by Ctrl-C", async () => {
    const child = spawn(process.execPath, [main, "call", METHOD, "-", ...to()], { stdio: "pipe" });
    const err = text(child.stderr);
    const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    for (const marketId of ["a", "b"]) {
      child.stdin.write(`{"marketId": "${marketId}"}\n`);
      const { value } = await answers.next();
      expect(ids(String(value))).toEqual([`${marketId}/`]);
    }
    child.kill("SIGINT");
    const [code] = await once(child, "close");
    expect([code, await err]).toEqual([130, ""]);
  });

  it("ends with its answers, though standard input goes on", async () => {
    const child = spawn(process.execPath, [main, "call", METHOD, "-", "--limit", "1", ...to()], { stdio: "pipe" });
    child.stdin.on("error", () => undefined);
    child.stdin.write('{"marketId": "a"}\n');
    const [out, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
    expect([ids(out), code]).toEqual([["a/"], 0]);
  });

  it("ends where its reader does", async () => {
    const script = `yes '{"marketId": "a"}' | tradewire call ${METHOD} - "$@" | head -n 2`;
    const { out } = await shell(script, to(), folder);
    expect(ids(out)).toEqual(["a/", "a/"]);
  });
});
