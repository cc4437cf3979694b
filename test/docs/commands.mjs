// Runs the commands that the README and docs/ show, beside a local node and a PostgreSQL, page by page, and prints what became
// of each. What is not everywhere, or installs something, is left out. It needs bash, timeout, curl and jq.
// Arguments: parts of the names of pages; all pages without any.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { createClient } from "tradewire";
import { TradingDataService } from "tradewire/api";
import { startDevnode } from "tradewire/devnode";
import { startServer } from "../support/postgres-server.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const main = join(root, "dist/src/cli/main.js");

/** A comment that says why a block is not run, and a block. */
const BLOCK = /(<!-- not run: .* -->\n\n)?^```sh\n((?:.*\n)*?)^```$/gm;
/** What is not everywhere, installs something, or makes a later command fail. */
const FOREIGN = /^(\.\/requests|\$EDITOR|cp|duckdb|node|npm|npx buf|psql|python)\b|psql|grpcurl|fail-next|^ /;
/** What goes on until it is stopped. */
const ENDLESS = /devnode( --|$)|tradewire follow|tradewire events| --follow| --queue| worker | call .*Observe|curl -N/;
/** How long that is run, and how long all else may take, in seconds. */
const RUN_SECONDS = 4;
const MAX_SECONDS = 120;
/** The exit code of `timeout` where it has stopped its command. */
const STOPPED = 124;

/** A market of the local node that is open. */
const market = createHash("sha256").update("market:0").digest("hex");

/** The commands of a block, one a line, without their comments. */
function commandsOf(block) {
  const lines = block.replaceAll(/\\\n\s*|(?<=\|)\n\s*/g, "").split("\n");
  return lines.map((line) => line.replace(/(^|\s+)#.*/, "")).filter((line) => line !== "");
}

async function run(command, cwd, environment) {
  const seconds = String(ENDLESS.test(command) ? RUN_SECONDS : MAX_SECONDS);
  const child = spawn("timeout", ["--kill-after=5", seconds, "bash", "-c", command], {
    cwd,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [err, code] = await Promise.all([text(child.stderr), new Promise((end) => child.on("close", end))]);
  return code === 0 || (code === STOPPED && ENDLESS.test(command)) ? undefined : `exit code ${code}\n${err}`;
}

/** Write what the commands take for granted. */
async function writeFiles(folder, client) {
  await mkdir(folder);
  const trades = (fromBlock, toBlock) => client.exportNetworkHistory({ table: "trades", fromBlock, toBlock });
  await trades(1, 1000).saveTo(join(folder, "a.zip"));
  await trades(1001, 2000).saveTo(join(folder, "b.zip"));
  for await (const file of trades(1, 1000).files()) {
    await writeFile(join(folder, "trades.csv"), file.content());
  }
  const order = { price: "1", size: "10", side: "SIDE_BUY", timeInForce: "TIME_IN_FORCE_GTC", type: "TYPE_LIMIT" };
  const command = JSON.stringify({ orderSubmission: { marketId: market, ...order } });
  await writeFile(join(folder, "order.json"), command);
  await writeFile(join(folder, "command.json"), command);
}

/** The blocks of shell commands of each page. */
async function readPages() {
  // The tutorials have a test that runs all of their steps in order.
  const docs = (await readdir(join(root, "docs"))).filter(
    (name) => name.endsWith(".md") && !name.startsWith("tutorial-"),
  );
  const wanted = process.argv.slice(2);
  const names = ["README.md", ...docs.map((name) => `docs/${name}`)];
  const pages = names.filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
  return Promise.all(
    pages.map(async (page) => {
      const blocks = (await readFile(join(root, page), "utf8")).matchAll(BLOCK);
      return { page, blocks: [...blocks].flatMap(([, note, code]) => (note === undefined ? [code] : [])) };
    }),
  );
}

const counts = { passed: 0, failed: 0, "left out": 0 };
function tell(end, page, command, problem = "") {
  counts[end] += 1;
  console.log(`${end.padEnd(8)}  ${page}: ${command}${problem === "" ? "" : `\n${problem}`}`);
}

const node = await startDevnode({ blockMs: 500, activity: 5, admin: true, segments: 3 });
const client = createClient({ grpc: { url: node.grpcUrl } });
const postgres = await startServer(["fsync=off"]);
const folder = await mkdtemp(join(tmpdir(), "tradewire-commands-"));
try {
  await mkdir(join(folder, "bin"));
  const program = join(folder, "bin/tradewire");
  await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
  await chmod(program, 0o755);
  await writeFiles(join(folder, "files"), client);

  const data = client.service(TradingDataService);
  const { orders } = await data.listStopOrders({ pagination: { first: 1 } });
  const { trades } = await data.listTrades({ pagination: { first: 1 } });
  const stopOrder = orders.edges[0].node.stopOrder.id;
  const party = trades.edges[0].node.buyer;
  const { accounts } = await data.listAccounts({ filter: { partyIds: [party] } });
  const there = (command) =>
    command
      .replaceAll("npx tradewire", "tradewire")
      .replace(/^tradewire devnode(?= --|$)/, "$& --grpc-port 0 --rest-port 0")
      .replace(/^tradewire devnode (?!--).*/, `$& --url ${node.restUrl}`)
      .replaceAll("http://127.0.0.1:3007", node.grpcUrl)
      .replaceAll("http://127.0.0.1:3008", node.restUrl)
      .replaceAll("https://node.example:3007", node.grpcUrl)
      .replaceAll(/postgres:\/\/\w+@db\.example\/history/g, postgres.url)
      .replace(/\b30{5,6}\b/, "2000")
      .replace(/^tradewire verify .*/, "$& || test $? = 3") // Blocks pass, so the proof of work cannot be checked.
      .replace("stop-orders ID", `stop-orders ${stopOrder}`)
      .replace('"0a…"', `"${stopOrder}"`)
      .replaceAll(/\bPUBLIC_KEY\b/g, party)
      .replaceAll(/\bASSET\b/g, accounts.edges[0].node.asset)
      .replaceAll(/\b(ID|MARKET)\b/g, market);
  const environment = {
    PATH: `${join(folder, "bin")}${delimiter}${process.env.PATH}`,
    TRADEWIRE_GRPC_URL: node.grpcUrl,
    TRADEWIRE_REST_URL: node.restUrl,
  };
  await writeFile(join(folder, "files/request.json"), JSON.stringify({ partyId: party }));
  await run("tradewire sync --to parquet:history --table trades", join(folder, "files"), environment);
  for (const { page, blocks } of await readPages()) {
    const own = await mkdtemp(join(folder, "page-"));
    await cp(join(folder, "files"), own, { recursive: true });
    for (const command of blocks.flatMap(commandsOf)) {
      if (FOREIGN.test(command)) {
        tell("left out", page, command);
      } else {
        const problem = await run(there(command), own, environment);
        tell(problem === undefined ? "passed" : "failed", page, command, problem);
      }
    }
  }
} finally {
  await client.close();
  await node.close();
  await postgres.stop();
  await rm(folder, { recursive: true });
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts["left out"]} left out`);
process.exit(counts.failed === 0 ? 0 : 1);
