// What faults on the way come to: bits that flip, connections that are cut or reset, nodes that fail inside a file, ports that
// are silent, nodes that restart, disks that are full. Each run must end with what the node sent, or with an error.
//
//   npm run build && node test/endurance/faults.mjs [RUNS]
//
// A proxy on loopback stands between the client and the local node, and does its worst at a random byte.
import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, openArchive, TradewireError } from "../../dist/src/index.js";
import { startDevnode } from "../../dist/src/node/index.js";
import { startLink } from "./link.mjs";

const runs = Number(process.argv[2] ?? 100);
const REQUEST = { table: "trades", fromBlock: 1, toBlock: 500 };
/** A second is enough for all that comes; a connection that stays silent for as long is over. */
const QUICK = { retry: { tries: 1 }, timeouts: { connectMs: 2000, callMs: 5000, idleMs: 2000 } };

const table = new Map();
function count(fault, outcome) {
  const outcomes = table.get(fault) ?? new Map();
  table.set(fault, outcomes);
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
}

/** What an error is in the table; anything but one of the library's is a finding. */
function nameOf(reason) {
  return reason instanceof TradewireError ? reason.name : `WRONG: ${reason}`;
}

const node = await startDevnode({ segments: 1, blocksPerSegment: 500, blockMs: 0 });
const folder = await mkdtemp(join(tmpdir(), "tradewire-faults-"));
const configOf = (transport, url) => ({ ...QUICK, transport, [transport === "rest" ? "rest" : "grpc"]: { url } });
const urlOf = (transport) => (transport === "rest" ? node.restUrl : node.grpcUrl);

/** The content of an archive: names and rows. */
async function contentOf(source) {
  const files = [];
  for await (const { name, batches } of openArchive(source).files()) {
    const rows = [];
    for await (const batch of batches()) {
      rows.push(...batch.rows);
    }
    files.push({ name, rows });
  }
  return JSON.stringify(files);
}

/** Use a client, and close it. */
async function withClient(config, use) {
  const client = createClient(config);
  return await use(client).finally(() => client.close());
}

function save(config) {
  const target = join(folder, "export.zip");
  return withClient(config, (client) => client.exportNetworkHistory(REQUEST).saveTo(target, { force: true }));
}

const original = await save(configOf("rest", node.restUrl));
const bytesOfOriginal = await readFile(original.path);
const content = await contentOf(bytesOfOriginal);
console.log(`an export of ${original.bytes} bytes, ${runs} runs of each fault`);

/** Export once over a faulty proxy into a file, and see what it came to. */
async function attempt(fault, transport, onBytes) {
  const between = await startLink(urlOf(transport), onBytes);
  try {
    const { path } = await save(configOf(transport, between.url));
    const same = Buffer.compare(await readFile(path), bytesOfOriginal) === 0;
    const known = same || (await contentOf(path).catch(() => "")) === content;
    count(fault, same ? "whole, equal" : known ? "whole, equal in names and rows" : "WRONG: accepted and different");
    await rm(path);
  } catch (reason) {
    count(fault, nameOf(reason));
    const left = await readdir(folder);
    if (left.length > 0) {
      count(fault, `WRONG: ${left.length} files are left`);
      await Promise.all(left.map((name) => rm(join(folder, name))));
    }
  } finally {
    between.close();
  }
}

await rm(original.path);
for (const transport of ["rest", "grpc", "grpc-js"]) {
  for (let run = 0; run < runs; run += 1) {
    const at = randomInt(original.bytes);
    const bit = 1 << randomInt(8);
    await attempt(`a bit flips (${transport})`, transport, ({ bytes, start, socket }) => {
      if (start <= at && at < start + bytes.length) {
        bytes[at - start] ^= bit;
      }
      socket.write(bytes);
    });
    for (const [fault, end] of [
      ["the connection ends", (socket) => socket.end()],
      ["the connection is reset", (socket) => socket.resetAndDestroy()],
      ["the connection falls silent", () => undefined],
    ]) {
      if (fault === "the connection falls silent" && run >= runs / 20) {
        continue; // Each waits for a time limit.
      }
      await attempt(`${fault} (${transport})`, transport, ({ bytes, start, socket }) => {
        if (start + bytes.length <= at) {
          socket.write(bytes);
        } else if (start <= at) {
          socket.write(bytes.subarray(0, at - start));
          end(socket);
        }
      });
    }
  }
}

/** A gateway whose node fails: the body stops anywhere, with the error object straight behind. */
async function cutInside(run) {
  const at = randomInt(4, bytesOfOriginal.length);
  const message = "segment 3 cannot be read".padEnd(run % 10 === 0 ? 60_000 : 24, ".");
  const error = JSON.stringify({ error: { code: 13, message, details: [] } });
  const server = createHttpServer((_, response) => {
    response.writeHead(200, { "content-type": "application/zip" });
    response.end(Buffer.concat([bytesOfOriginal.subarray(0, at), Buffer.from(error)]));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const [{ rows: expected }] = JSON.parse(content);
  let rows = 0;
  let invented = 0;
  const read = async (client) => {
    for await (const record of client.exportNetworkHistory(REQUEST).rows()) {
      invented += JSON.stringify(Object.values(record)) === JSON.stringify(expected[rows]) ? 0 : 1;
      rows += 1;
    }
  };
  try {
    await withClient(configOf("rest", `http://127.0.0.1:${server.address().port}`), read);
    count("the node fails inside a file (rows over REST)", "WRONG: taken for whole");
  } catch (reason) {
    const isNodes = reason.name === "NodeError" && reason.object.message === message;
    const said = isNodes ? "the node's error, after the rows before it" : `WRONG: ${nameOf(reason)}`;
    count("the node fails inside a file (rows over REST)", invented > 0 ? `WRONG: ${invented} rows invented` : said);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
for (let run = 0; run < runs; run += 1) {
  await cutInside(run);
}

/** gRPC's port takes connections and says nothing. */
const silent = createServer(() => undefined);
await new Promise((resolve) => silent.listen(0, "127.0.0.1", resolve));
{
  const grpc = { url: `http://127.0.0.1:${silent.address().port}` };
  const client = createClient({ ...QUICK, transport: "auto", grpc, rest: { url: node.restUrl } });
  for (let run = 0; run < Math.max(runs / 20, 2); run += 1) {
    const outcome = await client.listSegments().then(() => "answered over REST", nameOf);
    count("gRPC's port is silent (auto)", outcome);
  }
  await client.close();
}
silent.close();

/** The node restarts again and again, on the same ports, while it is asked. */
{
  const ports = [node.grpcUrl, node.restUrl].map((url) => Number(new URL(url).port));
  await node.close();
  const [grpcPort, restPort] = ports;
  const again = () => startDevnode({ grpcPort, restPort, segments: 1, blocksPerSegment: 10, blockMs: 0 });
  const client = createClient({
    grpc: { url: node.grpcUrl },
    rest: { url: node.restUrl },
    retry: { tries: 10, baseMs: 50, maxMs: 2000 },
    timeouts: { callMs: 30_000 },
  });
  for (let run = 0; run < Math.max(runs / 50, 2); run += 1) {
    const other = await again();
    for (let call = 0; call < 20; call += 1) {
      count("the node restarts (auto)", await client.listSegments().then(() => "answered", nameOf));
    }
    await other.close();
  }
  await client.close();
}

/** A disk that is full, where a small one can be made. */
try {
  const other = await startDevnode({ segments: 1, blocksPerSegment: 500, blockMs: 0 });
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], { stdio: "ignore" });
  try {
    for (let run = 0; run < 5; run += 1) {
      const outcome = await save({ ...QUICK, rest: { url: other.restUrl } }).then(() => "WRONG: saved", nameOf);
      count("the disk is full", (await readdir(folder)).length > 0 ? "WRONG: a file is left" : outcome);
    }
  } finally {
    execFileSync("umount", [folder]);
    await other.close();
  }
} catch {
  count("the disk is full", "not tried: a small disk cannot be made here");
}
await rm(folder, { recursive: true, force: true });

console.log("| fault | outcome | runs |\n|---|---|---|");
for (const [fault, outcomes] of table) {
  for (const [outcome, number] of [...outcomes].toSorted()) {
    console.log(`| ${fault} | ${outcome} | ${number} |`);
  }
}
process.exitCode = [...table.values()].some((outcomes) => [...outcomes.keys()].some((name) => /^WRONG/.test(name)))
  ? 1
  : 0;
