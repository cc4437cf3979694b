import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { zipOf } from "./support/archives.js";
import { start } from "./support/command-process.js";

/**
 * Packages and built-in modules that are not everyone's, `wrapper` of `ws` among them, the whole definitions, and the
 * command's program.
 */
const heavy = [
  ...["jszip", "yazl", "yauzl", "wrapper", "bip39", "grpc-js", "@electric-sql/pglite"],
  ...["undici", "node:http2", "dist/gen/vega", "dist/gen/datanode", "program"],
];
const index = pathToFileURL(resolve("dist/src/index.js")).href;
const folder = await mkdtemp(join(tmpdir(), "tradewire-index-"));
let programs = 0;
afterAll(() => rm(folder, { recursive: true }));

/** Run a program in a process of its own; `tradewire` is the library, or another entry. Gives which of the names it loaded. */
async function loadedBy(program: string, entry = index, names = heavy): Promise<string[]> {
  const source = `import * as tradewire from ${JSON.stringify(entry)};\n${program}`;
  const list = pathToFileURL(resolve("test/support/loaded-modules.mjs")).href;
  const file = join(folder, `loaded-${programs++}`);
  const args = ["--import", list, "--input-type=module", "-e", source];
  const { code, err } = await start(process.execPath, args, folder, { LOADED_FILE: file }).ended;
  expect({ code, err }).toEqual({ code: 0, err: "" });
  const urls = (await readFile(file, "utf8")).split("\n");
  expect(urls).toContain(entry);
  const isOf = (url: string, name: string) => url === name || url.includes(`/${name}/`) || url.includes(`/${name}-`);
  return names.filter((name) => urls.some((url) => isOf(url, name)));
}

/** Call a node that is not there; the transport is loaded all the same. */
const calling = (config: string) => `
  const client = tradewire.createClient({ ...${config}, retry: { tries: 1 } });
  const error = await client.listSegments().catch((reason) => reason);
  if (!(error instanceof tradewire.ConnectionError)) throw error;
`;
const block = `{ chainId: "chain-1", height: 5n, hash: "00", difficulty: 0, hashFunction: "sha3_24_rounds" }`;
const command = `{ case: "stopOrdersCancellation", value: {} }`;
const words =
  "swing ceiling chaos green put insane ripple desk match tip melt usual shrug turkey renew icon parade veteran lens govern path rough page render";

describe("the library", () => {
  test("loads nothing heavy when it is imported, or when what needs none of it is used", async () => {
    const light = `
      tradewire.openArchive("export.zip");
      tradewire.signerFromSeed("0c".repeat(32));
      tradewire.commandProblems({ case: "orderCancellation", value: { orderId: "", marketId: "" } });
    `;
    expect(await loadedBy(light)).toEqual([]);
  });

  test.each(["data/csv", "data/archive", "trade/transaction"])("loads no client for %s", async (name) => {
    const entry = pathToFileURL(resolve(`dist/src/${name}/index.js`)).href;
    expect(await loadedBy("", entry, ["client", ...heavy])).toEqual([]);
  });

  test.each([
    [
      "clients, before any call,",
      `tradewire.createClient({ grpc: { url: "http://127.0.0.1:1" }, rest: { url: "http://127.0.0.1:2" } });
       tradewire.createClient({ transport: "grpc-js", grpc: { url: "http://127.0.0.1:1" } });`,
      ["grpc-js", "undici", "node:http2"],
    ],
    ["a call over grpc", calling(`{ grpc: { url: "http://127.0.0.1:1" } }`), ["node:http2"]],
    ["a call over grpc-js", calling(`{ transport: "grpc-js", grpc: { url: "http://127.0.0.1:1" } }`), ["grpc-js"]],
    ["a call over rest", calling(`{ rest: { url: "http://127.0.0.1:1" } }`), ["undici"]],
    [
      "an export over rest",
      `const client = tradewire.createClient({ rest: { url: "http://127.0.0.1:1" }, retry: { tries: 1 } });
       const asked = client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 1000 }).bytes();
       const error = await asked[Symbol.asyncIterator]().next().catch((reason) => reason);
       if (!(error instanceof tradewire.ConnectionError)) throw error;`,
      ["yauzl", "undici"],
    ],
    [
      "a mnemonic",
      `const { publicKey } = await tradewire.signerFromMnemonic(${JSON.stringify(words)});
       if (!publicKey.startsWith("b5fd9d3c")) throw new Error(publicKey);`,
      ["bip39"],
    ],
    [
      "a transaction",
      `const signer = tradewire.signerFromSeed("0c".repeat(32));
       const tx = await tradewire.createTransaction(${command}, { signer, block: ${block} });
       const { problems } = await tradewire.openTransaction(tx, { chainId: "chain-1" });
       if (problems.length > 0) throw new Error(JSON.stringify(problems));`,
      ["dist/gen/vega"],
    ],
  ])("loads for %s what it needs", async (_, program, expected) => {
    expect(await loadedBy(program)).toEqual(expected);
  });

  test("works beside another copy of Connect, and with definitions that are another copy's", async () => {
    const connect = pathToFileURL(resolve("node_modules/@connectrpc/connect/dist/esm/index.js")).href;
    const definitions = pathToFileURL(resolve("dist/gen/vega/api/v1/core_pb.js")).href;
    const program = `
      const { ConnectError, createClient } = await import(${JSON.stringify(connect)});
      const { CoreService } = await import(${JSON.stringify(definitions)});
      const { createServer } = await import("node:http");
      const answer = { height: "5", hash: "ab" };
      const server = createServer((_, response) => response.setHeader("content-type", "application/json").end(JSON.stringify(answer)));
      await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
      const client = tradewire.createClient({ rest: { url: "http://127.0.0.1:" + server.address().port }, retry: { tries: 1 } });
      const { height } = await client.service(CoreService).lastBlockHeight({});
      if (height !== 5n) throw new Error(String(height));
      server.close();
      server.closeAllConnections();
      const error = await createClient(CoreService, client.transport).lastBlockHeight({}).catch((reason) => reason);
      if (!(error instanceof ConnectError) || error.code !== tradewire.Code.Unavailable) throw error;
      if (!(error.cause instanceof tradewire.ConnectionError)) throw error.cause;
      const interceptor = () => async () => { throw new ConnectError("mine", tradewire.Code.DataLoss); };
      const intercepted = tradewire.createClient({ rest: { url: "http://127.0.0.1:1" } }, { interceptors: [interceptor] });
      const told = await intercepted.listSegments().catch((reason) => reason);
      if (told.constructor !== ConnectError || told.message !== "[data_loss] mine") throw told;
    `;
    expect(await loadedBy(program)).toEqual(["undici", "dist/gen/vega"]);
  });

  test("loads a ZIP library for each use of archives", async () => {
    await writeFile(join(folder, "a.zip"), await zipOf({ "chain-1-trades-1-1000.csv": Buffer.from("a,b\n1,2\n") }));
    const reading = `
      const rows = [];
      for await (const row of tradewire.openArchive("a.zip").rows()) rows.push(row);
      if (rows.length !== 1) throw new Error(String(rows.length));
    `;
    expect(await loadedBy(reading)).toEqual(["yauzl"]);
    const merging = `await tradewire.mergeArchives(["a.zip"], "merged.zip");`;
    expect(await loadedBy(merging)).toEqual(["yazl", "yauzl"]);
    const exporting = `
      const { createServer } = await import("node:http");
      const { readFile } = await import("node:fs/promises");
      const answer = async (_, response) => response.setHeader("content-type", "application/zip").end(await readFile("a.zip"));
      const server = createServer(answer);
      await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
      const client = tradewire.createClient({ rest: { url: "http://127.0.0.1:" + server.address().port } });
      const zip = await client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 1000 }).toZip();
      if (Object.keys(zip.files).length !== 1) throw new Error("not the archive");
      await client.close();
      server.close();
    `;
    expect(await loadedBy(exporting)).toEqual(["jszip", "yauzl", "undici"]);
  });
});
