import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Running, run, startCommand } from "../support/command.js";

/** A node that keeps the limit of deployed nodes. */
let node: Running;
let urls: { grpcUrl: string; restUrl: string };
beforeAll(async () => {
  const size = ["--segments", "1", "--blocks-per-segment", "10", "--rate-limit"];
  node = startCommand(["devnode", "--grpc-port", "0", "--rest-port", "0", "--json", ...size]);
  urls = JSON.parse(await node.firstLine);
});
afterAll(async () => {
  node.interrupt("SIGTERM");
  await node.ended;
});

it("says with --verbose that calls wait, and why", async () => {
  // With --snap the segments are asked for first.
  const range = ["--table", "trades", "--from-block", "1", "--to-block", "10", "--snap", "--to", "-"];
  const args = ["export", ...range, "--transport", "rest", "--rest-url", urls.restUrl];
  const environment = { TRADEWIRE_LIMITS_CALLS_PER_SECOND: "1" };
  const quiet = await run(args, { environment });
  expect(quiet).toMatchObject({ code: 0, err: "" });
  const verbose = await run([...args, "--verbose"], { environment });
  expect(verbose.code).toBe(0);
  expect(verbose.err.replaceAll("datanode.api.v2.TradingDataService/", "").replaceAll(/\d+ ms/g, "N ms")).toMatch(
    /^tradewire: call (\d+): ListAllNetworkHistorySegments over rest\ntradewire: call \1 ended after N ms: 1 message\ntradewire: (call (\d+): ExportNetworkHistory over rest\ntradewire: )?ExportNetworkHistory waits N ms: limits.callsPerSecond\n/,
  );
  expect(verbose.err).toMatch(/call \d+ ended after \d+ ms: \d+ messages?\ntradewire export: ended after \d+ ms\n$/);
});
