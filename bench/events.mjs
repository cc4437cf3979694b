// How fast do events come, with every check on?
//
//   npm run build && node bench/events.mjs [EVENTS] [ROUNDS]
//
// A server gives EVENTS events as fast as they are taken: events of the local node, encoded before, as gRPC messages over
// HTTP/2 and as frames of a WebSocket. `client.events` reads them beside plain connect-node, and plain `ws` with JSON.parse
// and with the message's fromJson. Each run is a process of its own; runs are interleaved, the table shows medians.
//
//   node bench/events.mjs memory [SECONDS]
//
// reads the events of a busy local node over gRPC and over a WebSocket, and prints the memory from time to time.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { clone, create, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { createClient as createConnectClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { WebSocket, WebSocketServer } from "ws";
import { ObserveEventBusResponseSchema, TradingDataService } from "../dist/gen/datanode/api/v2/trading_data_pb.js";
import { BusEventSchema, BusEventType } from "../dist/gen/vega/events/v1/events_pb.js";
import { createClient } from "../dist/src/index.js";
import { startDevnode } from "../dist/src/node/index.js";

const self = fileURLToPath(import.meta.url);
/** Events of one message. Their JSON has less than 64 KiB, the longest line of a gateway. */
const BATCH = 25;
const [mode, ...args] = process.argv.slice(2);

const readers = {
  async "gRPC, connect-node"({ grpc }, count) {
    const bus = createConnectClient(TradingDataService, createGrpcTransport({ baseUrl: grpc }));
    let read = 0;
    for await (const { events } of bus.observeEventBus(asking())) {
      read += events.length;
      if (read >= count) {
        break;
      }
    }
  },
  "gRPC, client.events": ({ grpc }, count) => take(createClient({ transport: "grpc", grpc: { url: grpc } }), count),
  "WebSocket, ws and JSON.parse": ({ rest }, count) => frames(rest, count, (json) => json.events.length),
  "WebSocket, ws and fromJson": ({ rest }, count) =>
    frames(rest, count, (json) => fromJson(ObserveEventBusResponseSchema, json).events.length),
  "WebSocket, client.events": ({ rest }, count) =>
    take(createClient({ transport: "rest", rest: { url: rest } }), count),
};

async function* asking() {
  yield { type: [BusEventType.ALL] };
  await new Promise(() => undefined);
}

async function take(client, count) {
  let read = 0;
  for await (const event of client.events()) {
    read += event.block > 0n ? 1 : 0;
    if (read >= count) {
      break;
    }
  }
  await client.close();
}

async function frames(rest, count, sizeOf) {
  const socket = new WebSocket(`${rest.replace("http", "ws")}/api/v2/stream/event/bus`);
  socket.on("open", () => socket.send("{}"));
  let read = 0;
  await new Promise((resolve) => {
    socket.on("message", (data) => {
      read += sizeOf(JSON.parse(data.toString()).result);
      if (read >= count) {
        socket.terminate();
        resolve();
      }
    });
  });
}

if (mode === "server") {
  await serve(Number(args[0]));
} else if (mode === "client") {
  const began = performance.now();
  await readers[args[0]](JSON.parse(args[1]), Number(args[2]));
  const seconds = (performance.now() - began) / 1000;
  process.send({ seconds, peak: process.resourceUsage().maxRSS / 1024 }, () => process.exit());
} else if (mode === "node") {
  const { grpcUrl, restUrl } = await startDevnode({ blockMs: 250, activity: 10 });
  process.send({ grpc: grpcUrl, rest: restUrl });
} else if (mode === "memory") {
  await watchMemory(Number(args[0] ?? 600));
} else {
  await compare(Number(mode ?? 200_000), Number(args[0] ?? 5));
}

/** Events as the local node gives them. */
async function realEvents(count) {
  const node = await startDevnode({ blockMs: 20, activity: 50 });
  const bus = createConnectClient(TradingDataService, createGrpcTransport({ baseUrl: node.grpcUrl }));
  const found = [];
  for await (const { events } of bus.observeEventBus(asking())) {
    found.push(...events.filter(({ event }) => event.case !== "ledgerMovements")); // One of them may be a long line.
    if (found.length >= count) {
      break;
    }
  }
  await node.close();
  return found.slice(0, count);
}

async function serve(count) {
  const some = await realEvents(5000);
  const messages = Array.from({ length: Math.ceil(count / BATCH) }, (_, index) =>
    create(ObserveEventBusResponseSchema, {
      events: Array.from({ length: BATCH }, (_, at) => {
        const event = clone(BusEventSchema, some[(index * BATCH + at) % some.length]);
        event.id = `${index + 1}-${at + 1}`;
        return event;
      }),
    }),
  );
  const framed = messages.map((message) => {
    const bytes = toBinary(ObserveEventBusResponseSchema, message);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(bytes.length, 1);
    return Buffer.concat([head, bytes]);
  });
  const lines = messages.map((message) =>
    Buffer.from(JSON.stringify({ result: toJson(ObserveEventBusResponseSchema, message) })),
  );

  const grpc = createServer({ settings: { initialWindowSize: 8 * 1024 * 1024 } });
  grpc.on("stream", async (stream) => {
    stream.on("error", () => undefined);
    stream.respond({ ":status": 200, "content-type": "application/grpc+proto" });
    for (const frame of framed) {
      if (stream.destroyed) {
        return;
      }
      if (!stream.write(frame)) {
        await new Promise((resolve) => stream.once("drain", resolve));
      }
    }
  });
  const rest = createHttpServer();
  new WebSocketServer({ server: rest, perMessageDeflate: false }).on("connection", (socket) => {
    socket.once("message", async () => {
      for (const line of lines) {
        if (socket.readyState !== WebSocket.OPEN) {
          return;
        }
        socket.send(line, { binary: false });
        while (socket.bufferedAmount > 4 * 1024 * 1024) {
          await sleep(1);
        }
      }
    });
  });
  for (const server of [grpc, rest]) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
  const url = (server) => `http://127.0.0.1:${server.address().port}`;
  const size = (list) => list.reduce((sum, { length }) => sum + length, 0) / count;
  process.send({ grpc: url(grpc), rest: url(rest), binary: size(framed), json: size(lines) });
}

async function compare(count, rounds) {
  const server = fork(self, ["server", String(count)]);
  const [urls] = await once(server, "message");
  const runs = new Map(Object.keys(readers).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, list] of runs) {
      const client = fork(self, ["client", name, JSON.stringify(urls), String(count)]);
      list.push((await once(client, "message"))[0]);
    }
  }
  server.kill();
  const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
  console.log(
    `${count} events, ${urls.binary.toFixed(0)} bytes each as Protobuf, ${urls.json.toFixed(0)} as JSON; medians of ${rounds} interleaved runs`,
  );
  console.log("| | events/s | ratio | peak memory, MiB |\n|---|---|---|---|");
  let peer = 0;
  for (const [name, list] of runs) {
    const rate = count / median(list.map(({ seconds }) => seconds));
    peer = name.endsWith("client.events") ? peer : rate;
    console.log(
      `| ${name} | ${rate.toFixed(0)} | ${(rate / peer).toFixed(2)} | ${median(list.map((run) => run.peak)).toFixed(0)} |`,
    );
  }
}

async function watchMemory(seconds) {
  const node = fork(self, ["node"]);
  const [urls] = await once(node, "message");
  const counts = {};
  const clients = [
    createClient({ transport: "grpc", grpc: { url: urls.grpc } }),
    createClient({ transport: "rest", rest: { url: urls.rest } }),
  ];
  const types = ["order", "trade", "account", "positionStateEvent", "beginBlock", "endBlock"];
  for (const [index, name] of ["gRPC", "WebSocket"].entries()) {
    counts[name] = 0;
    void (async () => {
      for await (const event of clients[index].events({ types }, { reconnect: true })) {
        if ("gap" in event) {
          console.log(
            `over ${name}: events after ${event.gap.afterBlock} and before ${event.gap.beforeBlock} are missing`,
          );
        } else {
          counts[name] += 1;
        }
      }
    })().catch((reason) => console.log(`over ${name}: ${reason.summary}`));
  }
  console.log("| seconds | events over gRPC | over WebSocket | heap, MiB | resident, MiB |\n|---|---|---|---|---|");
  for (let at = 0; at <= seconds; at += seconds / 10) {
    globalThis.gc?.();
    const { heapUsed, rss } = process.memoryUsage();
    const mib = (bytes) => (bytes / 1024 / 1024).toFixed(0);
    console.log(`| ${at.toFixed(0)} | ${counts.gRPC} | ${counts.WebSocket} | ${mib(heapUsed)} | ${mib(rss)} |`);
    await sleep((seconds / 10) * 1000);
  }
  await Promise.all(clients.map((client) => client.close()));
  node.kill();
}
