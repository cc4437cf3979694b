// Reading an archive's rows, compared with `unzip -p FILE | wc -l`, and the memory for a small and a large archive.
//
//   npm run build && node bench/archive-rows.mjs [--rounds 5] [--large 1024]
//
// Each archive holds one CSV file of trades, of 40 MiB, 160 MiB and --large MiB. The zipfile module of python3 deflates
// them (ZIP64 above 4 GiB), once, in the folder for temporary files. Each run is a separate process, and every round
// runs all subjects in turn.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, existsSync, renameSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const MIB = 1024 * 1024;
const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    large: { type: "string", default: "1024" },
    run: { type: "string" },
    file: { type: "string" },
  },
});

const runs = {
  "ours, from a file, batches": (file) => batches(file),
  "ours, from a stream, batches": (file) => batches(createReadStream(file, { highWaterMark: 256 * 1024 })),
  "ours, from a file, records": async (file) => {
    const { openArchive } = await import("../dist/src/index.js");
    let rows = 0;
    for await (const _ of openArchive(file).rows()) {
      rows += 1;
    }
    return rows;
  },
};

async function batches(source) {
  const { openArchive } = await import("../dist/src/index.js");
  let rows = 0;
  for await (const file of openArchive(source).files()) {
    for await (const batch of file.batches()) {
      rows += batch.rows.length;
    }
  }
  return rows;
}

if (values.run === undefined) {
  await main();
} else {
  const start = performance.now();
  const rows = await runs[values.run](values.file);
  const seconds = (performance.now() - start) / 1000;
  process.stdout.write(JSON.stringify({ rows, seconds, memory: process.resourceUsage().maxRSS / 1024 }));
}

async function main() {
  const middle = await archive(160);
  const names = Object.keys(runs);
  const results = new Map(["unzip -p | wc -l", ...names].map((name) => [name, []]));
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const start = performance.now();
    const lines = execFileSync("sh", ["-c", 'unzip -p "$0" | wc -l', middle], { encoding: "utf8" });
    results.get("unzip -p | wc -l").push({ rows: Number(lines), seconds: (performance.now() - start) / 1000 });
    for (const name of names) {
      results.get(name).push(measure(name, middle));
    }
  }
  const rate = (name) => 160 / median(results.get(name).map(({ seconds }) => seconds));
  console.log(`160 MiB of CSV, ${statSync(middle).size} bytes of archive, ${values.rounds} rounds, ${process.version}`);
  console.table(
    [...results.keys()].map((name) => ({
      reader: name,
      "MiB/s": Math.round(rate(name)),
      "of unzip": (rate(name) / rate("unzip -p | wc -l")).toFixed(2),
      "peak MiB": Math.round(median(results.get(name).map(({ memory }) => memory ?? 0))) || "",
    })),
  );
  const small = await archive(40);
  const large = await archive(Number(values.large));
  console.table(
    names.map((name) => {
      const [few, many] = [small, large].map((file) => measure(name, file));
      return {
        reader: name,
        "40 MiB: peak MiB": Math.round(few.memory),
        [`${values.large} MiB: peak MiB`]: Math.round(many.memory),
        "MiB more": Math.round(many.memory - few.memory),
        "MiB/s": Math.round(Number(values.large) / many.seconds),
      };
    }),
  );
}

function measure(name, file) {
  const self = fileURLToPath(import.meta.url);
  return JSON.parse(execFileSync(process.execPath, [self, "--run", name, "--file", file], { encoding: "utf8" }));
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

/**
 * Make an archive with one CSV file of the given size in MiB, unless it exists. One in fifty rows has quoted fields.
 */
async function archive(mebibytes) {
  const path = join(tmpdir(), `tradewire-bench-trades-1-${mebibytes * 1000}.zip`);
  if (existsSync(path)) {
    return path;
  }
  const part = `${path}.part`;
  const script =
    "import sys, zipfile\n" +
    "with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED, compresslevel=6) as z:\n" +
    "  with z.open(sys.argv[2], 'w', force_zip64=True) as f:\n" +
    "    while block := sys.stdin.buffer.read(1 << 20): f.write(block)\n";
  const name = `bench-trades-1-${mebibytes * 1000}.csv`;
  const python = spawn("python3", ["-c", script, part, name], { stdio: ["pipe", "inherit", "inherit"] });
  for (const block of csv(mebibytes * MIB)) {
    if (!python.stdin.write(block)) {
      await once(python.stdin, "drain");
    }
  }
  python.stdin.end();
  const [status] = await once(python, "exit");
  if (status !== 0) {
    throw new Error("python3 could not write the archive");
  }
  renameSync(part, path);
  return path;
}

function* csv(size) {
  let state = 1;
  const random = (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
  const hex = () => Array.from({ length: 64 }, () => random(16).toString(16)).join("");
  const identifiers = Array.from({ length: 4096 }, () => `\\x${hex()}`);
  const identifier = () => identifiers[random(identifiers.length)];
  let text =
    "synthetic_time,tx_hash,vega_time,seq_num,id,market_id,price,size,buyer,seller,aggressor,buy_order,sell_order,type,buyer_maker_fee,buyer_infrastructure_fee\n";
  for (let n = 0, written = 0; written < size; n += 1) {
    text += `2023-11-14 22:13:${10 + (n % 50)}.${100000 + random(900000)}+00,${identifier()},2023-11-14 22:13:20.123456+00,${n},${identifier()},${identifier()},${random(1e9)},${random(1000)},${identifier()},${identifier()},1,${identifier()},${identifier()},1,${n % 50 === 0 ? '"said ""hi"",\nand left"' : ""},${n % 3 === 0 ? '""' : random(100000)}\n`;
    if (text.length > MIB || written + text.length >= size) {
      written += text.length;
      yield text;
      text = "";
    }
  }
}
