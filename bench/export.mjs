// How fast, and in how much memory, does an export of 1 GiB arrive over each transport?
//
//   npm run build && node bench/export.mjs [ROUNDS]
//
// Every run is a separate process. The runs of all rows are interleaved, and the table shows medians. "default windows"
// is Connect's gRPC transport with its defaults. "sink" rows drop the bytes; "file" rows save the archive, checked and
// synced.
import { execFile, fork } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createRouterTransport } from "@connectrpc/connect";
import { connectNodeAdapter, createGrpcTransport } from "@connectrpc/connect-node";
import { createGateway } from "../dist/src/devnode/gateway.js";
import { createClient, TradingDataService } from "../dist/src/index.js";
import { parts, SIZE } from "./archive.mjs";

const REQUEST = { table: "trades", fromBlock: 1, toBlock: 1000 };
const ROWS = ["grpc", "grpc default windows", "grpc-js", "rest", "rest envelopes", "grpc file", "rest file"];
const [role, ...args] = process.argv.slice(2);

if (role === "server") {
  const routes = (router) =>
    router.service(TradingDataService, {
      async *exportNetworkHistory() {
        yield* parts();
      },
    });
  const grpc = createHttp2Server(connectNodeAdapter({ routes }));
  const rest = createServer(createGateway(createRouterTransport(routes), [TradingDataService]));
  await Promise.all([grpc, rest].map((server) => new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))));
  process.send([grpc, rest].map((server) => `http://127.0.0.1:${server.address().port}`));
} else if (role === "client") {
  const [row, grpcUrl, restUrl, folder] = args;
  const start = performance.now();
  let bytes = 0;
  if (row === "grpc default windows") {
    const transport = createGrpcTransport({ baseUrl: grpcUrl, acceptCompression: [] });
    const { exportNetworkHistory: method } = TradingDataService.method;
    const response = await transport.stream(
      method,
      undefined,
      undefined,
      undefined,
      (async function* () {
        yield {};
      })(),
    );
    for await (const message of response.message) {
      bytes += message.data.length;
    }
  } else {
    const config = row.startsWith("grpc")
      ? { transport: row === "grpc-js" ? row : "grpc", grpc: { url: grpcUrl } }
      : { transport: "rest", rest: { url: restUrl } };
    const headers = row === "rest envelopes" ? { accept: "application/x-ndjson" } : {};
    const client = createClient(config);
    const exported = client.exportNetworkHistory(REQUEST, { extensions: "optional", headers });
    if (row.endsWith("file")) {
      ({ bytes } = await exported.saveTo(folder, { force: true }));
    } else {
      for await (const piece of exported.bytes()) {
        bytes += piece.length;
      }
    }
    await client.close();
  }
  if (bytes !== SIZE) {
    throw new Error(`${bytes} bytes instead of ${SIZE}`);
  }
  const seconds = (performance.now() - start) / 1000;
  process.stdout.write(JSON.stringify({ rate: bytes / 1e6 / seconds, peak: process.resourceUsage().maxRSS / 1024 }));
} else {
  const rounds = Number(role ?? 5);
  const self = fileURLToPath(import.meta.url);
  const server = fork(self, ["server"]);
  const [grpcUrl, restUrl] = await new Promise((resolve) => server.once("message", resolve));
  const folder = await mkdtemp(join(tmpdir(), "tradewire-bench-"));
  const runs = new Map(ROWS.map((row) => [row, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const row of ROWS) {
      const command = [self, "client", row, grpcUrl, restUrl, folder];
      const { stdout } = await promisify(execFile)(process.execPath, command);
      runs.get(row).push(JSON.parse(stdout));
    }
  }
  const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
  const reference = median(runs.get("grpc").map(({ rate }) => rate));
  console.log(`${(SIZE / 2 ** 20).toFixed(0)} MiB, medians of ${rounds} interleaved runs`);
  console.log("| | MB/s | ratio to grpc | peak memory, MiB |\n|---|---|---|---|");
  for (const [row, results] of runs) {
    const rate = median(results.map((result) => result.rate));
    const peak = median(results.map((result) => result.peak));
    console.log(`| ${row} | ${rate.toFixed(0)} | ${(rate / reference).toFixed(2)} | ${peak.toFixed(0)} |`);
  }
  await rm(folder, { recursive: true });
  server.kill();
}
