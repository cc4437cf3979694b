// Saving an export over loopback REST: how fast are archives of 300 MB of CSV, stored and deflated?
//
//   npm run build && node bench/save.mjs [MEGABYTES] [RUNS] [DIST]
//
// The archive is served by a process of its own, from memory, as fast as it is taken. DIST is another build to measure
// beside this one, in the same run. The rates are those of the bytes on the wire and of the CSV in them.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { buffer } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ZipFile } from "yazl";

const megabytes = Number(process.argv[2] ?? 300);

if (process.send !== undefined) {
  await serve();
} else {
  const runs = Number(process.argv[3] ?? 3);
  const builds = ["dist", ...process.argv.slice(4)];
  console.log("| archive | build | check | seconds | wire MB/s | CSV MB/s |\n|---|---|---|---|---|---|");
  for (const compress of [false, true]) {
    const server = fork(fileURLToPath(import.meta.url), [String(megabytes), String(compress)]);
    const [{ url, size }] = await once(server, "message");
    for (const build of builds) {
      const { createClient } = await import(pathToFileURL(resolve(build, "src/index.js")).href);
      for (const verify of ["content", "structure"]) {
        const times = [];
        let verified;
        for (let run = 0; run < runs; run += 1) {
          const folder = await mkdtemp(join(tmpdir(), "tradewire-bench-"));
          const client = createClient({ transport: "rest", rest: { url } });
          const start = performance.now();
          const request = { table: "trades", fromBlock: 1, toBlock: 1000 };
          ({ verified = "structure" } = await client.exportNetworkHistory(request).saveTo(`${folder}/`, { verify }));
          times.push((performance.now() - start) / 1000);
          await client.close();
          await rm(folder, { recursive: true });
        }
        const best = Math.min(...times);
        const rates = [size / 1e6, megabytes].map((mb) => (mb / best).toFixed(0));
        const name = compress ? "deflated" : "stored";
        console.log(`| ${name} | ${build} | ${verified} | ${best.toFixed(2)} | ${rates.join(" | ")} |`);
      }
    }
    server.kill();
  }
}

async function serve() {
  const zip = new ZipFile();
  const header = "trade_id,market,price,size,buyer,seller,time\n";
  const hex = (n) => Math.imul(n, 2_654_435_761).toString(16).padStart(9, "0").repeat(4);
  const line = (n) => `${hex(n)},${hex(n % 7)},${n * 37},${n % 1000},${hex(n % 991)},${hex(n % 977)},2023-10-19 ${n}\n`;
  const block = Buffer.from(Array.from({ length: 20_000 }, (_, n) => line(n)).join(""));
  const content = Buffer.alloc(megabytes * 1e6, block);
  content.write(header, 0);
  content.write("\n", content.length - 1);
  zip.addBuffer(content, "bench-trades-1-1000.csv", { compress: process.argv[3] === "true" });
  zip.end();
  const archive = await buffer(zip.outputStream);
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "application/zip", "content-length": archive.length });
    response.end(archive);
  });
  server.listen(0, "127.0.0.1", () => {
    process.send({ url: `http://127.0.0.1:${server.address().port}`, size: archive.length });
  });
}
