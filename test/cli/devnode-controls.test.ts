import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Client, createClient } from "tradewire";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { run } from "../support/command.js";
import { type CommandNode, startCommandNode } from "../support/devnode-command.js";
import { closedUrl } from "../support/node.js";

let node: CommandNode;
let client: Client;
beforeAll(async () => {
  node = await startCommandNode("--admin");
  client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, retry: { tries: 1 } });
});
afterAll(async () => {
  await client.close();
  await node.stop();
});
beforeEach(async () => {
  await control("reset");
});

const control = (...args: string[]) => run(["devnode", ...args, "--url", node.restUrl]);
const height = async () => (await client.lastBlockHeight()).height;
const done = { code: 0, out: "{}\n", err: "" };

/** A server that answers everything alike. */
async function serve(status: number, body: string): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((_, response) => response.writeHead(status).end(body));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

describe("tradewire devnode", () => {
  it("make-block makes one, and prints its height", async () => {
    expect(await control("make-block")).toEqual({ code: 0, out: '{"height":"41"}\n', err: "" });
    expect(await height()).toBe(41n);
  });

  it("set-time sets the clock, from which it goes on", async () => {
    expect(await control("set-time", "2040-02-03T04:05:06Z")).toEqual(done);
    await control("make-block");
    const { timestamp } = await client.service(CoreService).getVegaTime({});
    const late = Number(timestamp / 1_000_000n) - Date.parse("2040-02-03T04:05:06Z");
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(3_600_000);
  });

  it("snapshot and revert bring back what was", async () => {
    await control("make-block");
    expect(await control("snapshot")).toEqual({ code: 0, out: expect.stringMatching(/^\{"id":"\d+"\}\n$/), err: "" });
    const { id } = JSON.parse((await control("snapshot")).out);
    await control("make-block");
    await control("make-block");
    expect(await height()).toBe(43n);
    expect(await control("revert", id)).toEqual(done);
    expect(await height()).toBe(41n);
  });

  it("reset brings back what the node began with", async () => {
    await control("make-block");
    expect(await control("reset")).toEqual(done);
    expect(await height()).toBe(40n);
  });

  it("fail-next makes so many calls fail as it is told", async () => {
    expect(await control("fail-next", "LastBlockHeight", "NOT_FOUND", "--times", "2")).toEqual(done);
    await expect(height()).rejects.toThrow("NOT_FOUND");
    await expect(height()).rejects.toThrow("NOT_FOUND");
    expect(await height()).toBe(40n);
    expect(await control("fail-next", "ExportNetworkHistory", "cut", "--after-bytes", "300")).toEqual(done);
    const request = { table: "trades", fromBlock: 1, toBlock: 40 } as const;
    await expect(client.exportNetworkHistory(request).toZip()).rejects.toMatchObject({ name: "ConnectionError" });
    expect(Object.keys((await client.exportNetworkHistory(request).toZip()).files)).toHaveLength(2);
  });

  it.each([
    [["revert", "77"], 'unknown snapshot "77"', "Use the ID of an existing snapshot"],
    [["set-time", "soon"], 'invalid time "soon"', "Use ISO 8601, such as "],
    [["set-time", "2001-01-01"], "the time 2001-01-01T00:00:00.000Z is not after", "Use a later time"],
    [["fail-next", "Nothing", "cut"], 'unknown method "Nothing"', "Use the name of a method, such as"],
    [["fail-next", "Info", "burn"], 'unknown failure "burn"', "Use cut, stall"],
    [["fail-next", "Info", "cut", "--times", "0"], "--times must be a whole number of at least 1 (got 0)", ""],
  ])("says once why the node refuses %j, and what to do", async (args, summary, advice) => {
    const { code, out, err } = await control(...args);
    expect([code, out]).toEqual([2, ""]);
    const lines = err.split("\n");
    expect(lines[0]).toContain(`tradewire: ${summary}`);
    expect(lines.slice(1)).toEqual([...(advice === "" ? [] : [expect.stringContaining(advice)]), ""]);
  });

  it.each([
    [["set-time"], "missing required argument 'time'"],
    [["revert"], "missing required argument 'id'"],
    [["fail-next", "Info"], "missing required argument 'how'"],
    [["make-block", "2"], "unexpected argument '2'"],
    [["fail-next", "Info", "cut", "--times", "x"], 'tradewire: --times must be a whole number from 0 (got "x")'],
    [["make-block", "--url", "localhost"], "argument 'localhost' is invalid"],
    [["make-block", "--url", "ftp://localhost"], "argument 'ftp://localhost' is invalid"],
    [["make-blocks"], "unknown command 'make-blocks'"],
  ])("takes %j for bad usage", async (args, said) => {
    const { code, out, err } = await run(["devnode", ...args]);
    expect([code, out]).toEqual([2, ""]);
    const [summary, ...advice] = err.trimEnd().split("\n");
    expect(summary).toContain(said);
    expect(advice).toEqual(
      summary?.includes("must be") ? [] : [expect.stringMatching(/^(Did you mean make-block\? )?(Try|Use) /)],
    );
  });

  it("tells that a node does not accept commands", async () => {
    await using plain = await startCommandNode();
    expect(await run(["devnode", "make-block", "--url", plain.restUrl])).toEqual({
      code: 2,
      out: "",
      err: `tradewire: the node at ${plain.restUrl} does not accept commands\nStart it with --admin, or set --url to the gateway of a node that runs with --admin.\n`,
    });
  });

  it("tells that no node answers", async () => {
    const url = await closedUrl();
    expect(await run(["devnode", "reset", "--url", url])).toEqual({
      code: 1,
      out: "",
      err: `tradewire: no node responds at ${url}\nStart one with \`tradewire devnode --admin\`, or set --url to the URL of its gateway.\n`,
    });
  });

  it.each([
    [200, "<html>"],
    [200, '"ok"'],
    [400, "Bad Request"],
    [503, '{"message":"not now"}'],
  ])("tells that something else answers: %d %s", async (status, body) => {
    await using other = await serve(status, body);
    expect(await run(["devnode", "reset", "--url", other.url])).toEqual({
      code: 1,
      out: "",
      err: expect.stringMatching(
        new RegExp(`^tradewire: ${other.url} responded with ${status}, unlike a local node\nSet --url .*\n$`),
      ),
    });
  });
});
