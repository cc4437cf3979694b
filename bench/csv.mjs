// Decoding CSV: our decoder compared with udsv, papaparse and csv-parse on the same files.
//
//   npm run build && node bench/csv.mjs [--rounds 5] [--shape trades|narrow|wide|long|quoted|unicode] [--only REGEXP]
//
// Each decoder reads a file in chunks and gives arrays of strings. Only the subjects marked so tell NULL from an empty
// string. Every run is a separate process, and every round runs all subjects in turn, so that other load affects all of
// them alike. The files are made once, with the same bytes everywhere, in the folder for temporary files.
import { execFileSync } from "node:child_process";
import { createReadStream, existsSync, renameSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const MEGABYTE = 1e6;

const random = (() => {
  let state = 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
})();
const hex = (length) => Array.from({ length }, () => random(16).toString(16)).join("");
const identifiers = Array.from({ length: 4096 }, () => `\\x${hex(64)}`);
const identifier = () => identifiers[random(identifiers.length)];
const number = (digits) => String(random(10 ** digits));

/** The content of the files: the header, and a function from a row's number to the row. */
const shapes = {
  trades: {
    megabytes: 160,
    header:
      "synthetic_time,tx_hash,vega_time,seq_num,id,market_id,price,size,buyer,seller,aggressor,buy_order,sell_order,type,buyer_maker_fee,buyer_infrastructure_fee",
    row: (n) =>
      `2023-11-14 22:13:${10 + (n % 50)}.${100000 + random(900000)}+00,${identifier()},2023-11-14 22:13:20.123456+00,${n},${identifier()},${identifier()},${number(9)},${number(3)},${identifier()},${identifier()},1,${identifier()},${identifier()},1,${n % 50 === 0 ? '"said ""hi"",\nand left"' : ""},${n % 3 === 0 ? '""' : number(5)}\n`,
  },
  narrow: {
    megabytes: 60,
    header: "a,b,c,d,e,f",
    row: (n) => `${n},${n % 7},${number(5)},,${number(2)}.${number(2)},${n % 2 ? "t" : "f"}\n`,
  },
  wide: {
    megabytes: 60,
    header: Array.from({ length: 200 }, (_, index) => `c${index}`).join(),
    row: () => `${Array.from({ length: 200 }, (_, index) => (index % 5 ? number(5) : "")).join()}\n`,
  },
  long: {
    megabytes: 160,
    header: "id,text,n",
    row: (n) => `${n},${identifier().repeat(40)},${n}\n`,
  },
  quoted: {
    megabytes: 160,
    header: '"a","b","c","d","e","f"',
    row: (n) =>
      `"${n}","${number(9)}","${identifier()}","","${n % 10 ? "text, with a comma" : 'with ""quotes""'}","2023-11-14 22:13:20"\n`,
  },
  unicode: {
    megabytes: 60,
    header: "id,name,text",
    row: (n) => `${n},名前${n % 100},${"これは長い文章です".repeat(1 + (n % 4))}\n`,
  },
};

/** The subjects. Each loads its decoder, and then calls `take` with arrays of rows, without the header row. */
const runs = {
  "ours, NULL told": async () => {
    const { decodeCsv } = await import("../dist/src/data/csv/index.js");
    return async (stream, take) => {
      for await (const { rows } of decodeCsv(stream)) {
        take(rows);
      }
    };
  },
  "ours row by row, NULL told": async () => {
    const { csvRows } = await import("../dist/src/data/csv/index.js");
    return async (stream, take) => {
      for await (const row of csvRows(stream)) {
        take([row]);
      }
    };
  },
  "ours as records, NULL told": async () => {
    const { csvRecords } = await import("../dist/src/data/csv/index.js");
    return async (stream, take) => {
      let columns;
      for await (const record of csvRecords(stream)) {
        columns ??= Object.keys(record);
        take([columns.map((column) => record[column])]);
      }
    };
  },
  udsv: async () => {
    const { inferSchema, initParser } = await import("udsv");
    return async (stream, take) => {
      const decoder = new TextDecoder();
      const row = (values) => {
        take([values]);
        return true;
      };
      let parser;
      for await (const chunk of stream) {
        const text = decoder.decode(chunk, { stream: true });
        parser ??= initParser(inferSchema(text));
        parser.chunk(text, parser.stringArrs, row);
      }
      parser.end();
    };
  },
  papaparse: async () => {
    const { default: papa } = await import("papaparse");
    return (stream, take) => {
      let header = true;
      return new Promise((resolve, reject) => {
        papa.parse(stream, {
          skipEmptyLines: true,
          chunk: ({ data }) => {
            take(header ? data.slice(1) : data);
            header = false;
          },
          complete: resolve,
          error: reject,
        });
      });
    };
  },
  "csv-parse": () => csvParse({}),
  "csv-parse, NULL told": () => csvParse({ cast: (value, { quoting }) => (value === "" && !quoting ? null : value) }),
};

async function csvParse(options) {
  const { parse } = await import("csv-parse");
  return async (stream, take) => {
    for await (const row of stream.pipe(parse({ from: 2, ...options }))) {
      take([row]);
    }
  };
}

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    shape: { type: "string", default: "trades" },
    only: { type: "string", default: "" },
    run: { type: "string" },
  },
});
const file = join(tmpdir(), `tradewire-bench-${values.shape}.csv`);

if (values.run === undefined) {
  await main();
} else {
  await measure(await runs[values.run]());
}

/** Measure the time and memory of one run, and count rows and characters to prove that the whole file was read. */
async function measure(run) {
  let rows = 0;
  let characters = 0;
  const take = (batch) => {
    rows += batch.length;
    for (const row of batch) {
      for (let index = 0; index < row.length; index++) {
        characters += row[index]?.length ?? 0;
      }
    }
  };
  const start = performance.now();
  await run(createReadStream(file), take);
  const seconds = (performance.now() - start) / 1000;
  const memory = process.resourceUsage().maxRSS / 1024;
  process.stdout.write(JSON.stringify({ rows, characters, seconds, memory }));
}

async function main() {
  await makeFile();
  const bytes = statSync(file).size;
  const names = Object.keys(runs).filter((name) => new RegExp(values.only).test(name));
  const results = new Map(names.map((name) => [name, []]));
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const name of names) {
      const self = fileURLToPath(import.meta.url);
      const output = execFileSync(process.execPath, [self, "--shape", values.shape, "--run", name], {
        encoding: "utf8",
      });
      results.get(name).push(JSON.parse(output));
    }
  }
  const [first] = names;
  const [{ rows, characters }] = results.get(first);
  const rate = (name) => bytes / MEGABYTE / median(results.get(name).map(({ seconds }) => seconds));
  console.log(`${values.shape}: ${bytes} bytes, ${rows} rows, ${values.rounds} rounds, Node ${process.version}`);
  console.table(
    names.map((name) => ({
      decoder: name,
      "MB/s": Math.round(rate(name)),
      "of the first": (rate(name) / rate(first)).toFixed(2),
      "peak MiB": Math.round(median(results.get(name).map(({ memory }) => memory))),
      "same values": results.get(name).every((run) => run.rows === rows && run.characters === characters),
    })),
  );
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

async function makeFile() {
  if (existsSync(file)) {
    return;
  }
  const { header, row, megabytes } = shapes[values.shape];
  const part = `${file}.part`;
  const handle = await open(part, "w");
  let text = `${header}\n`;
  for (let n = 0, written = 0; written < megabytes * MEGABYTE; n++) {
    text += row(n);
    if (text.length > MEGABYTE) {
      written += (await handle.write(text)).bytesWritten;
      text = "";
    }
  }
  await handle.write(text);
  await handle.close();
  renameSync(part, file);
}
