// A custom sink: each unit is a file of JSON lines, with the values as in the node's CSV.

import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { CanceledError, Code, RequestError } from "tradewire";
import { SinkError } from "tradewire/sync";
import { convert, knowing, lineOf } from "./rows.js";
import { changeManifest, readManifest } from "./store.js";

/** How many characters are gathered before they are written. */
const WRITE_SIZE = 64 * 1024;

const overlaps = (a, b) => a.table === b.table && a.fromBlock <= b.toBlock && b.fromBlock <= a.toBlock;
const isSame = (a, b) => a.table === b.table && a.fromBlock === b.fromBlock && a.segmentId === b.segmentId;

/**
 * Make a sink that keeps tables as files of JSON lines. Processes of one machine may use the folder side by side.
 *
 * @param {string} folder is made where it is missing
 * @returns {import("tradewire/sync").Sink}
 */
export function jsonLinesSink(folder) {
  const ending = new AbortController(); // Ends what is being loaded when the sink is closed.
  const loads = new Set();
  let opening;

  async function load(unit, fetch, { replace, signal }) {
    signal = AbortSignal.any([signal, ending.signal]);
    const token = randomUUID();
    const file = `${unit.table}-${unit.fromBlock}-${token}.jsonl`;
    const taken = await changeManifest(folder, ({ entries, loading }) => {
      const there = entries.filter((entry) => overlaps(entry, unit));
      if (there.some((entry) => !replace || isSame(entry, unit))) {
        return "there";
      }
      if (loading.some((other) => overlaps(other, unit))) {
        return "busy";
      }
      loading.push({ ...unit, token, file, pid: process.pid });
    });
    if (taken !== undefined) {
      return { outcome: taken };
    }
    let old = [];
    let done = false;
    try {
      stopWhereAborted(signal);
      const csv = await fetch();
      const known = knowing(unit, csv.columns, opening);
      const rows = await write(join(folder, file), convert(csv.content, unit, known), signal);
      const measures = csv.measures();
      if (rows !== measures.rows) {
        throw new SinkError(`${rows} of ${measures.rows} rows of ${unit.table} arrived`, {
          code: Code.DataLoss,
          advice: "Try again; if it persists, the sink and the client disagree about the file.",
        });
      }
      stopWhereAborted(signal);
      const { chainId, table, fromBlock, toBlock, segmentId, previousSegmentId, schemaVersion } = unit;
      const of = { chainId, table, fromBlock, toBlock, segmentId, previousSegmentId, schemaVersion };
      const entry = { ...of, rows, bytes: measures.bytes, sha256: measures.sha256, loadedAt: new Date().toISOString() };
      await changeManifest(folder, (manifest) => {
        old = manifest.entries.filter((other) => overlaps(other, unit));
        const kept = manifest.entries.filter((other) => !overlaps(other, unit));
        manifest.entries = [...kept, { ...entry, file }].sort((a, b) => (a.fromBlock < b.fromBlock ? -1 : 1));
        manifest.loading = manifest.loading.filter((other) => other.token !== token);
      });
      done = true;
      return { outcome: "loaded", entry };
    } finally {
      if (!done) {
        await rm(join(folder, file), { force: true });
        await changeManifest(folder, (manifest) => {
          manifest.loading = manifest.loading.filter((other) => other.token !== token);
        });
      }
      for (const { file } of old) {
        await rm(join(folder, file), { force: true });
      }
    }
  }

  return {
    name: `json-lines:${folder}`,

    async open(given) {
      await changeManifest(folder, async (manifest) => {
        if ((manifest.chainId ?? given.chainId) !== given.chainId) {
          throw new RequestError(`${folder} has chain ${manifest.chainId}, not ${given.chainId}`, {
            advice: "Use a separate folder for each chain.",
          });
        }
        manifest.chainId = given.chainId;
        const owned = new Set([...manifest.entries, ...manifest.loading].map(({ file }) => file));
        for (const name of await readdir(folder)) {
          if (name.endsWith(".jsonl") && !owned.has(name)) {
            await rm(join(folder, name), { force: true }); // Of a process that was killed.
          }
        }
      });
      opening = given;
    },

    inspect: async () => (await readManifest(folder)).chainId,

    async *entries(table, behind = -1n) {
      for (const { file, ...entry } of (await readManifest(folder)).entries) {
        if (entry.table === table && entry.fromBlock > behind) {
          yield entry;
        }
      }
    },

    load(unit, fetch, options) {
      const loading = load(unit, fetch, options).finally(() => loads.delete(loading));
      loads.add(loading);
      return loading;
    },

    async remove(entry) {
      const file = await changeManifest(folder, (manifest) => {
        const found = manifest.entries.find((other) => isSame(other, entry));
        manifest.entries = manifest.entries.filter((other) => other !== found);
        return found?.file;
      });
      if (file !== undefined) {
        await rm(join(folder, file), { force: true });
      }
    },

    async countRows(entry) {
      let rows = 0n;
      for await (const _ of linesOf(folder, entry)) {
        rows += 1n;
      }
      return rows;
    },

    /** Counts each line. This keeps a unit in memory; a database would do it by itself. */
    async compareRows(entry, fetch, signal) {
      const counts = new Map();
      const count = (line, by) => counts.set(line, (counts.get(line) ?? 0n) + by);
      for await (const line of linesOf(folder, entry)) {
        count(line, -1n);
      }
      const csv = await fetch();
      const known = knowing(entry, csv.columns, { ...opening, onUnknown: () => undefined });
      for await (const record of convert(csv.content, entry, known)) {
        stopWhereAborted(signal);
        count(lineOf(record), 1n);
      }
      const sum = (values) => values.reduce((all, value) => all + value, 0n);
      const missing = sum([...counts.values()].filter((value) => value > 0n));
      return { missing, extra: -sum([...counts.values()].filter((value) => value < 0n)) };
    },

    async close() {
      ending.abort();
      await Promise.allSettled(loads);
    },

    [Symbol.asyncDispose]() {
      return this.close();
    },
  };
}

/**
 * Read the rows of a table.
 *
 * @param {string} folder
 * @param {import("tradewire").TableName} table
 * @returns the rows by the names of their columns, values as `COPY` writes them
 */
export async function readRows(folder, table) {
  const rows = [];
  for (const entry of (await readManifest(folder)).entries.filter((other) => other.table === table)) {
    for await (const line of linesOf(folder, entry)) {
      rows.push(JSON.parse(line));
    }
  }
  return rows;
}

async function* linesOf(folder, entry) {
  const { entries } = await readManifest(folder);
  const found = entries.find((other) => isSame(other, entry));
  if (found !== undefined) {
    yield* createInterface({ input: createReadStream(join(folder, found.file)), crlfDelay: Number.POSITIVE_INFINITY });
  }
}

async function write(path, records, signal) {
  const file = await open(path, "wx");
  let rows = 0n;
  try {
    let text = "";
    for await (const record of records) {
      stopWhereAborted(signal);
      rows += 1n;
      text += `${lineOf(record)}\n`;
      if (text.length > WRITE_SIZE) {
        await file.writeFile(text);
        text = "";
      }
    }
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  return rows;
}

function stopWhereAborted(signal) {
  if (signal.aborted) {
    throw new CanceledError({ cause: signal.reason });
  }
}
