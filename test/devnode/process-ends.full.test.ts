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
