// Intents under faults: is each executed once at most, and does each end?
//
//   npm run build && node test/endurance/intents.mjs [--intents N] [--parallel N] [--valid-for-blocks N] [--lost SHARE]
//     [--cut-ms N] [--kill-program-ms N] [--kill-node-ms N]
//     [--grpc-url URL --market ID --seed HEX --restart-node COMMAND]
//
// A program submits orders as intents to the local node, or to a network's node with --grpc-url, through a proxy that loses
// answers and cuts connections at random. Program and node are killed again and again, and started again. Each loop of the
// program writes all its orders into one object, and every fifth intent is a stop order. Afterwards the node's orders and stop
// orders are compared with the journal.
// The exit code is 1 if an intent was executed twice, is not decided, or ended as the node's orders do not show.
import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { TradingDataService } from "../../dist/gen/datanode/api/v2/trading_data_pb.js";
import { createClient, openFileJournal, signerFromMnemonic, signerFromSeed } from "../../dist/src/index.js";
import { freePort } from "../support/free-port.mjs";
import { end, startNode } from "./node-process.mjs";

const { values } = parseArgs({
  options: {
    intents: { type: "string", default: "1000" },
    parallel: { type: "string", default: "8" },
    "valid-for-blocks": { type: "string" },
    lost: { type: "string", default: "0.05" }, // The share of submissions whose answer is lost.
    "cut-ms": { type: "string", default: "3000" }, // The maximum time between two faults of a kind.
    "kill-program-ms": { type: "string", default: "15000" },
    "kill-node-ms": { type: "string", default: "40000" },
    "grpc-url": { type: "string" },
    market: { type: "string" },
    seed: { type: "string" }, // 64 hex digits: a key of a test network, with a general account for the market's margins.
    "restart-node": { type: "string" }, // Kills the network's node and starts it again.
    program: { type: "string" }, // Set for the program that submits: the parameters as JSON.
  },
});
const count = Number(values.intents);
const parallel = Number(values.parallel);
const MNEMONIC = "test test test test test test test test test test test junk"; // The keys of the local node.
const given = values.program === undefined ? undefined : JSON.parse(values.program);
const profile = given?.profile ?? (values["grpc-url"] === undefined ? "specification" : "deployed");
const config = { transport: "grpc", profile };
const run = given?.run ?? randomBytes(3).toString("hex"); // A network keeps the orders of other runs.
const nameOf = (n) => `intent-${run}-${n}`;
const isStopOrder = (n) => n % 5 === 4;
/** Each order has a price of its own, so that one with the content of another shows. */
const priceOf = (n) => String((isStopOrder(n) ? 900_000_000 : 1) + n);

/** Submits all intents; what it did before it was killed, the journal knows. */
async function runProgram({ url, path, seed, marketId, validForBlocks }) {
  const client = createClient({ ...config, grpc: { url }, timeouts: { connectMs: 2000, callMs: 5000 } });
  const journal = await openFileJournal(path);
  const signer = seed === undefined ? await signerFromMnemonic(MNEMONIC) : signerFromSeed(seed);
  const intents = client.intents({ signer, journal });
  const retried = async (act) => {
    for (;;) {
      try {
        return await act();
      } catch (reason) {
        if (reason.name === "CommandError" || reason.summary?.includes("another command")) {
          throw reason;
        }
        await sleep(200);
      }
    }
  };
  for (;;) {
    const left = [];
    for await (const each of intents.resume({ timeoutMs: 60_000 })) {
      if (each.status === "open") {
        left.push(each.id);
      }
    }
    if (left.length === 0) {
      break;
    }
  }
  const lines = (await readFile(path, "utf8")).split("\n");
  const settled = new Set(lines.flatMap((line) => (line.includes('"isLast":true') ? [JSON.parse(line).id] : [])));
  let next = 0;
  const submitNext = async () => {
    const order = { marketId, size: 1n, side: 1, timeInForce: 1, type: 1, price: "", reference: "" };
    const closing = { marketId, size: 1n, side: 2, timeInForce: 3, type: 2, reduceOnly: true, reference: "" };
    const trigger = { case: "price", value: "" };
    const submission = { case: "orderSubmission", value: order };
    const stopOrder = { case: "stopOrdersSubmission", value: { risesAbove: { trigger, orderSubmission: closing } } };
    const options = { id: "", timeoutMs: 60_000, validForBlocks };
    const write = (price, name) => {
      order.price = price;
      trigger.value = price;
      order.reference = name;
      closing.reference = name;
      options.id = name;
    };
    for (let n = next++; n < count; n = next++) {
      if (isStopOrder(n) && !settled.has(nameOf(n))) {
        // A party may have few at a time. What this cancels was executed.
        const cancellation = { case: "stopOrdersCancellation", value: { marketId } };
        await client.sendCommand(cancellation, { signer, until: "executed", timeoutMs: 10_000 }).catch(() => undefined);
      }
      await retried(() => {
        write(priceOf(n), nameOf(n));
        const submitting = intents.submit(isStopOrder(n) ? stopOrder : submission, options);
        write("7", "of nobody"); // What it is after the call does not matter.
        return submitting;
      });
    }
  };
  await Promise.all(Array.from({ length: parallel }, submitNext));
  intents.close();
  await client.close();
  await journal[Symbol.asyncDispose]();
}

/** A proxy that loses answers and cuts connections. */
async function startProxy(port) {
  const sockets = new Set();
  const counts = { cut: 0, lost: 0 };
  const server = createServer((socket) => {
    const back = connect(port, "127.0.0.1");
    for (const each of [socket, back]) {
      each.on("error", () => undefined);
      each.on("close", () => {
        sockets.delete(socket);
        socket.destroy();
        back.destroy();
      });
    }
    sockets.add(socket);
    socket.on("data", (bytes) => {
      back.write(bytes);
      if (bytes.includes("intent-") && Math.random() < Number(values.lost)) {
        counts.lost += 1;
        back.removeAllListeners("data");
        back.on("data", () => socket.destroy()); // The node got it, and its answer is lost.
      }
    });
    back.on("data", (bytes) => socket.write(bytes));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    counts,
    cut() {
      counts.cut += 1;
      for (const socket of sockets) {
        socket.destroy();
      }
    },
    close: () => {
      server.close();
      for (const socket of sockets) {
        socket.destroy();
      }
    },
  };
}

/** Does something again and again, after a random time of up to so many milliseconds, until it is stopped. */
function again(maxMs, act) {
  const stop = new AbortController();
  const running = (async () => {
    while (!stop.signal.aborted) {
      await sleep(maxMs * (0.3 + 0.7 * Math.random()), undefined, { signal: stop.signal }).catch(() => undefined);
      if (!stop.signal.aborted) {
        await act();
      }
    }
  })();
  return () => {
    stop.abort();
    return running;
  };
}

/** The local node, which can be killed and started again. */
async function startLocalNode(folder) {
  const ports = { grpcPort: await freePort(), restPort: await freePort() };
  const args = ["--segments", "1", "--blocks-per-segment", "120", "--block-time", "100ms"];
  let node = await startNode(ports, folder, args);
  return {
    port: ports.grpcPort,
    async restart() {
      await end(node);
      node = await startNode(ports, folder, args);
    },
    close: () => end(node),
  };
}

/** A network's node, which a command of the caller kills and starts again. */
function networkNode() {
  const command = values["restart-node"];
  return {
    port: Number(new URL(values["grpc-url"]).port),
    restart: command && (() => promisify(execFile)("sh", ["-c", command])),
    close: async () => undefined,
  };
}

/** A market of the local node that is open. */
async function openMarket(client) {
  const { markets } = await client.service(TradingDataService).listMarkets({});
  const isOpen = ({ state, tradingMode }) => state === 5 && tradingMode === 1;
  return markets.edges.map((edge) => edge.node).find(isOpen).id;
}

async function main() {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-intents-"));
  const path = join(folder, "orders.journal");
  const node = values["grpc-url"] === undefined ? await startLocalNode(join(folder, "node")) : networkNode();
  const url = `http://127.0.0.1:${node.port}`;
  const proxy = await startProxy(node.port);
  const kills = { program: 0, node: 0 };
  const began = performance.now();
  try {
    const direct = createClient({ ...config, grpc: { url } });
    const marketId = values.market ?? (await openMarket(direct));
    const parameters = {
      url: proxy.url,
      path,
      run,
      profile,
      seed: values.seed,
      marketId,
      validForBlocks: values["valid-for-blocks"] && Number(values["valid-for-blocks"]),
    };
    const own = fileURLToPath(import.meta.url);
    const programArgs = [
      "--intents",
      String(count),
      "--parallel",
      String(parallel),
      "--program",
      JSON.stringify(parameters),
    ];
    const startProgram = () =>
      spawn(process.execPath, [own, ...programArgs], { stdio: ["ignore", "inherit", "inherit"] });
    let program = startProgram();
    const stops = [
      again(Number(values["cut-ms"]), () => proxy.cut()),
      again(Number(values["kill-node-ms"]), async () => {
        if (node.restart !== undefined) {
          kills.node += 1;
          await node.restart();
        }
      }),
      again(Number(values["kill-program-ms"]), async () => {
        if (program.exitCode === null) {
          kills.program += 1;
          await end(program);
          program = startProgram();
        }
      }),
    ];
    for (;;) {
      const [code, signal] =
        program.exitCode === null && program.signalCode === null
          ? await once(program, "exit")
          : [program.exitCode, program.signalCode];
      if (code === 0) {
        break;
      }
      if (signal === null) {
        throw new Error(`the program ended with ${code}`);
      }
      await sleep(50); // It was killed, and is started again.
    }
    await Promise.all(stops.map((stop) => stop()));
    await sleep(5000); // Blocks that may still hold a transaction.
    const executed = new Map();
    const mixed = [];
    const note = (reference, price) => {
      executed.set(reference, (executed.get(reference) ?? 0) + 1);
      const n = Number(new RegExp(`^intent-${run}-(\\d+)$`).exec(reference)?.[1] ?? Number.NaN);
      if (reference === "of nobody" || (!Number.isNaN(n) && price !== priceOf(n))) {
        mixed.push({ reference, price });
      }
    };
    const filter = { marketIds: [marketId] };
    for await (const { node: record } of direct.records(TradingDataService.method.listOrders, { filter })) {
      if (record.type === 1) {
        note(record.reference, record.price);
      }
    }
    for await (const { node: record } of direct.records(TradingDataService.method.listStopOrders, { filter })) {
      if (record.stopOrder.status !== 6) {
        note(record.submission.reference, record.stopOrder.trigger.value); // It was not rejected.
      }
    }
    const journal = await openFileJournal(path);
    const endings = {};
    const wrong = [];
    for (let n = 0; n < count; n += 1) {
      const entries = (await journal.read(nameOf(n))).map((entry) => JSON.parse(entry));
      const last = entries.at(-1);
      const orders = executed.get(nameOf(n)) ?? 0;
      const why = last?.kind === "failed" ? ` ${last.reason}` : "";
      const kind = `${last?.kind} (${last?.evidence}${why}), ${entries.filter(({ transaction }) => transaction).length} signed`;
      endings[kind] = (endings[kind] ?? 0) + 1;
      if (orders > 1 || !["executed", "failed"].includes(last?.kind) || (last.kind === "executed") !== (orders === 1)) {
        wrong.push({ id: nameOf(n), orders, ending: last?.kind });
      }
    }
    const twice = [...executed].filter(
      ([reference, times]) => reference.startsWith(`intent-${run}-`) && times > 1,
    ).length;
    const open = (await journal.open()).length;
    console.table({
      "programs killed": kills.program,
      "nodes killed": kills.node,
      ...proxy.counts,
      seconds: Math.round((performance.now() - began) / 1000),
    });
    console.table(endings);
    console.table({ intents: count, "executed twice": twice, open, wrong: wrong.length + mixed.length });
    console.log([...wrong, ...mixed].slice(0, 10));
    process.exitCode = twice + open + wrong.length + mixed.length === 0 ? 0 : 1;
    await journal[Symbol.asyncDispose]();
    await direct.close();
  } finally {
    proxy.close();
    await node.close();
    await rm(folder, { recursive: true, force: true });
  }
}

await (given === undefined ? main() : runProgram(given));
