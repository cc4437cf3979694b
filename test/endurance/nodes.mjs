// Several nodes, of which one is always about to go: does a client notice?
//
//   npm run build && node test/endurance/nodes.mjs [--minutes N] [--rate N] [--transport grpc|grpc-js|rest] [--strategy first|round-robin]
//
// A client reads a parameter so many times a second from three nodes, in processes of their own. Each minute one of them, in
// turn, is killed, and after half a minute started again. A second client, which reads as often, has a node that nobody kills.
// Shows the failed calls and the times of both. The exit code is 1 if a call failed.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createClient } from "../../dist/src/index.js";
import { freePort } from "../support/free-port.mjs";
import { end, startNode } from "./node-process.mjs";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    rate: { type: "string", default: "200" },
    transport: { type: "string", default: "grpc" },
    strategy: { type: "string", default: "first" },
  },
});
const [minutes, rate] = [Number(values.minutes), Number(values.rate)];
const KEY = "spam.pow.difficulty";
const ARGS = ["--segments", "1", "--blocks-per-segment", "10", "--block-time", "1000ms"];

const folder = await mkdtemp(join(tmpdir(), "tradewire-nodes-"));
const nodes = await Promise.all(
  [0, 1, 2, 3].map(async (at) => {
    const ports = { grpcPort: await freePort(), restPort: await freePort() };
    return { at, ports, process: await startNode(ports, join(folder, String(at)), ARGS) };
  }),
);
const healthy = nodes[3];
const urlOf = ({ ports }) => `http://127.0.0.1:${values.transport === "rest" ? ports.restPort : ports.grpcPort}`;
const clientOf = (url) => {
  const endpoint = { [values.transport === "rest" ? "rest" : "grpc"]: { url } };
  return createClient({ ...endpoint, transport: values.transport, fallback: { strategy: values.strategy } });
};

/** Reads at the rate, whatever the answers take, and returns the times of the calls and the failures. */
async function read(client, signal) {
  const times = [];
  const failures = [];
  const calls = new Set();
  const began = performance.now();
  for (let sent = 0; !signal.aborted; ) {
    for (const due = ((performance.now() - began) / 1000) * rate; sent < due; sent += 1) {
      const from = performance.now();
      const call = client
        .networkParameter(KEY)
        .then(() => times.push(performance.now() - from))
        .catch((reason) => failures.push(reason))
        .finally(() => calls.delete(call));
      calls.add(call);
    }
    await sleep(5);
  }
  await Promise.all(calls);
  return { times: times.sort((a, b) => a - b), failures };
}

const ending = new AbortController();
try {
  const several = clientOf(nodes.slice(0, 3).map(urlOf));
  const single = clientOf(urlOf(healthy));
  const both = Promise.all([read(several, ending.signal), read(single, ending.signal)]);
  for (let minute = 0; minute < minutes; minute += 1) {
    const node = nodes[minute % 3];
    await sleep(15_000);
    await end(node.process);
    await sleep(30_000);
    node.process = await startNode(node.ports, join(folder, String(node.at)), ARGS);
    await sleep(15_000);
  }
  ending.abort();
  const [ofSeveral, ofSingle] = await both;
  await Promise.all([several.close(), single.close()]);
  const row = ({ times, failures }) => ({
    calls: times.length + failures.length,
    failed: failures.length,
    ...Object.fromEntries(
      [50, 99, 99.9].map((p) => [`p${p} ms`, times[Math.floor((times.length * p) / 100)]?.toFixed(1)]),
    ),
    "max ms": times.at(-1)?.toFixed(1),
  });
  console.table({ "three nodes, one killed a minute": row(ofSeveral), "one healthy node": row(ofSingle) });
  for (const failure of ofSeveral.failures.slice(0, 5)) {
    console.log(String(failure));
  }
  process.exitCode = ofSeveral.failures.length === 0 ? 0 : 1;
} finally {
  await Promise.all(nodes.map(({ process }) => end(process)));
  await rm(folder, { recursive: true, force: true });
}
