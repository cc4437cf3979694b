import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "@jest/globals";
import { type Client, createClient, openFileJournal } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { start } from "../../support/command-process.js";

let node: Devnode;
let client: Client;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10 });
  client = createClient({ grpc: { url: node.grpcUrl } });
});
afterAll(async () => {
  await client.close();
  await node.close();
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tradewire-threads-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** Runs code in a thread that ends when it is told to: `exit`, or `fail` with an error that nobody catches. */
function startThread(code: string): Worker {
  const ending = `
    const { parentPort, workerData: data } = require("node:worker_threads");
    parentPort.on("message", (how) => {
      if (how === "exit") process.exit();
      setImmediate(() => { throw new Error("uncaught"); });
    });
    (async () => { ${code} })();
  `;
  const worker = new Worker(ending, { eval: true, workerData: { folder, url: node.grpcUrl } });
  worker.on("error", () => undefined);
  return worker;
}

async function end(worker: Worker, how: string): Promise<void> {
  const exited = new Promise((done) => worker.once("exit", done));
  if (how === "terminate") {
    await worker.terminate();
  } else {
    worker.postMessage(how);
  }
  await exited;
}

it.each(["terminate", "exit", "fail"])("a thread that ends leaves its journal to others (%s)", async (how) => {
  const worker = startThread(`
    const { openFileJournal } = await import("tradewire");
    globalThis.journal = await openFileJournal(data.folder + "/orders.journal");
    parentPort.postMessage("open");
  `);
  await once(worker, "message");
  const path = join(folder, "orders.journal");
  await expect(openFileJournal(path)).rejects.toThrow(`${path} is in use by process ${process.pid}`);
  await end(worker, how);
  await using journal = await openFileJournal(path);
  expect(await journal.open()).toEqual([]);
});

/** Code of a thread: a client whose exports do not begin; the thread says so of each. */
const waitingClient = `
  const { createClient } = await import("tradewire");
  const waiting = (next) => (request) => {
    if (request.method.name !== "ExportNetworkHistory") return next(request);
    parentPort.postMessage("waiting");
    return new Promise(() => {});
  };
  const client = createClient({ grpc: { url: data.url } }, { interceptors: [waiting] });
`;

it("a thread that ends leaves its folder of an export to others", async () => {
  const worker = startThread(`
    ${waitingClient}
    await client
      .exportNetworkHistory({ table: "blocks", fromBlock: 1, toBlock: 10 })
      .saveTo(data.folder + "/out/", { resume: data.folder + "/parts" });
  `);
  await once(worker, "message");
  const saved = () =>
    client
      .exportNetworkHistory({ table: "blocks", fromBlock: 1, toBlock: 10 })
      .saveTo(`${folder}/out/`, { resume: join(folder, "parts") });
  await expect(saved()).rejects.toThrow("is in use by another export");
  await end(worker, "terminate");
  expect((await saved()).path).toContain("blocks");
});

// In a process of its own: the bindings of DuckDB may damage the memory of a process whose threads end while they are loaded.
it("a thread that ends leaves its units of a Parquet folder to others", async () => {
  const program = `
    import { once } from "node:events";
    import { Worker } from "node:worker_threads";
    import { createClient } from "tradewire";
    import { parquetSink, syncHistory } from "tradewire/sync";

    const [, folder, url] = process.argv;
    const tables = folder + "/tables";
    const request = { tables: ["blocks"], range: { toBlock: 10 } };
    const code = ${JSON.stringify(`
      const { parentPort, workerData: data } = require("node:worker_threads");
      (async () => {
        ${waitingClient}
        const { parquetSink, syncHistory } = await import("tradewire/sync");
        // DuckDB ends the process of a thread that ends while it works: here it works for what nodes list, too.
        const unlisted = { ...client, referencedRecords: undefined };
        await syncHistory(unlisted, { sink: parquetSink(data.tables), ...data.request });
      })();
    `)};
    const worker = new Worker(code, { eval: true, execArgv: [], workerData: { tables, request, url } });
    await once(worker, "message");
    await worker.terminate();
    const client = createClient({ grpc: { url } });
    const { units } = await syncHistory(client, { sink: parquetSink(tables), ...request });
    process.stdout.write(String(units));
    await client.close();
  `;
  const args = ["--input-type=module", "--eval", program, folder, node.grpcUrl];
  expect(await start(process.execPath, args).ended).toMatchObject({ code: 0, out: "1", err: "" });
});
