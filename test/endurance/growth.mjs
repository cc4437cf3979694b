// Does anything grow with the number of calls? The program makes ten thousand small calls over each transport, one
// after another, in one process.
//
//   npm run build && node --expose-gc test/endurance/growth.mjs
//
// Memory is read after a garbage collection. Sockets and timers are those that keep the process alive.
import { fork } from "node:child_process";
import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { fileURLToPath } from "node:url";
import { createRouterTransport } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { createGateway } from "../../compiled/src/node/gateway.js";
import { TradingDataService } from "../../dist/src/client/api/index.js";
import { createClient } from "../../dist/src/index.js";

const MARKS = [0, 1000, 5000, 10_000];
const segments = [
  { fromHeight: 1n, toHeight: 1000n, historySegmentId: "Qm-1", databaseVersion: 1n, chainId: "chain-1" },
];

if (process.argv[2] === "server") {
  const routes = (router) =>
    router.service(TradingDataService, { listAllNetworkHistorySegments: () => ({ segments }) });
  const grpc = createHttp2Server(connectNodeAdapter({ routes }));
  const rest = createServer(createGateway(createRouterTransport(routes), [TradingDataService]));
  await Promise.all([grpc, rest].map((server) => new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))));
  process.send([grpc, rest].map((server) => `http://127.0.0.1:${server.address().port}`));
} else {
  const server = fork(fileURLToPath(import.meta.url), ["server"]);
  const [grpcUrl, restUrl] = await new Promise((resolve) => server.once("message", resolve));
  const grpc = { url: grpcUrl };
  const rest = { url: restUrl };
  const nowhere = { url: "http://127.0.0.1:1" };
  const configs = {
    grpc: { transport: "grpc", grpc },
    "grpc json": { transport: "grpc", grpc: { ...grpc, codec: "json" } },
    "grpc-js": { transport: "grpc-js", grpc },
    rest: { transport: "rest", rest },
    auto: { transport: "auto", grpc, rest },
    "auto over rest": { transport: "auto", grpc: nowhere, rest },
  };
  console.log("| | calls | RSS, MiB | heap, MiB | sockets | timers | calls/s |\n|---|---|---|---|---|---|---|");
  for (const [name, config] of Object.entries(configs)) {
    const client = createClient(config);
    let calls = 0;
    let start = performance.now();
    for (const mark of MARKS) {
      const before = calls;
      for (; calls < mark; calls += 1) {
        const listed = await client.listSegments();
        if (listed.length !== 1) {
          throw new Error(`call ${calls} over ${name} listed ${listed.length} segments`);
        }
      }
      const rate = mark === 0 ? "" : ((calls - before) / (performance.now() - start)) * 1000;
      row(name, calls, rate === "" ? "" : rate.toFixed(0));
      start = performance.now();
    }
    await client.close();
    await new Promise((resolve) => setTimeout(resolve, 100));
    row(name, "closed", "");
  }
  server.kill();
}

function row(name, calls, rate) {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo();
  const count = (kind) => resources.filter((resource) => kind.test(resource)).length;
  const cells = [name, calls, mib(rss), mib(heapUsed), count(/^TCPSocketWrap$/), count(/^(Timeout|Immediate)$/), rate];
  console.log(`| ${cells.join(" | ")} |`);
}

function mib(bytes) {
  return (bytes / 2 ** 20).toFixed(1);
}
