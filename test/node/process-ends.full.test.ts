import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "@jest/globals";

/** A program that rehearses a failure and closes everything. What it writes at the end is how long it lived on, in milliseconds. */
const program = (transport: string, kind: string) => `
  import { createClient } from "tradewire";
  import { TradingDataService } from "tradewire/api";
  import { startDevnode } from "tradewire/devnode";
  const node = await startDevnode({ blockMs: 0 });
  const endpoints = { grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } };
  const client = createClient({ transport: "${transport}", ...endpoints, retry: { tries: 1 } });
  for (const afterBytes of [0, 3]) {
    node.failNext({ method: "Info", with: "${kind}", afterBytes });
    const error = await client.service(TradingDataService).info({}, { signal: AbortSignal.timeout(300) }).catch((reason) => reason);
    if (!(error instanceof Error)) throw new Error("the call did not fail");
  }
  await client.close();
  await node.close();
  const closed = performance.now();
  process.on("exit", () => process.stdout.write(String(performance.now() - closed)));
`;

test.each(
  ["grpc", "grpc-js", "rest"].flatMap((transport) => [
    [transport, "cut"],
    [transport, "stall"],
  ]),
)("a program ends when client and node are closed: over %s, after a %s", async (transport, kind) => {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program(transport, kind)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const written: Buffer[] = [];
  child.stdout.on("data", (bytes: Buffer) => written.push(bytes));
  const [code] = await once(child, "close");
  expect(code).toBe(0);
  // A timer of the call would keep it alive for the rest of its 60 s.
  expect(Number(Buffer.concat(written).toString())).toBeLessThan(50_000);
});

/** A program whose WebSocket ends with a line of more than 64 KiB. It fails if it is still alive 20 seconds after the close. */
const endedByLine = `
  import { startDevnode } from "tradewire/devnode";
  import { WebSocket } from "ws";
  const node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
  const socket = new WebSocket(new URL("/api/v2/stream/event/bus", node.restUrl.replace("http", "ws")));
  const closed = new Promise((resolve) => socket.on("close", resolve));
  await new Promise((resolve) => socket.on("open", resolve));
  socket.send(JSON.stringify({ type: [49], batchSize: 300 }));
  await new Promise((resolve) => socket.on("pong", resolve).ping());
  for (let made = 0; made < 300; made += 1) await node.makeBlock();
  await closed;
  await node.close();
  setTimeout(() => process.exit(1), 20_000).unref();
`;

test("a program ends when its node is closed after a WebSocket ended with a long line", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", endedByLine], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [code] = await once(child, "close");
  expect(code).toBe(0);
});
