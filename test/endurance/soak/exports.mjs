// Exports: of history, straight and by files, and of a ledger.
import { createHash } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { openArchive } from "tradewire";

const TABLES = ["trades", "orders", "blocks", "market_data"];

/** Rows of one or some segments: straight, out of a file, in parts, or broken off. The same range gives the same rows. */
export function exported({ tracker, transport, random, client, folder, digests }) {
  return tracker.call("export", transport, random.between(5000, 30_000), async (signal) => {
    const segments = await client.listSegments({ signal });
    const first = random.below(segments.length);
    const last = Math.min(segments.length - 1, first + random.below(3));
    const [table, fromBlock, toBlock] = [random.of(TABLES), segments[first].fromHeight, segments[last].toHeight];
    const asked = client.exportNetworkHistory({ table, fromBlock, toBlock }, { signal });
    const way = random.of(["left early", "straight", "saved", "saved in parts", "saved by structure"]);
    const leaveAfter = way === "left early" ? random.below(200) : Number.POSITIVE_INFINITY;
    const digest = way.startsWith("saved") ? await saved(asked) : await digestOf(asked.rows(), leaveAfter);
    const key = `${table} ${fromBlock} ${toBlock}`;
    if (digest === undefined) {
      return;
    }
    if (digest !== (digests.get(key) ?? digest)) {
      tracker.problem("exports are right", `${key} over ${transport} has other rows than before`);
    }
    digests.set(key, digest);

    async function saved(history) {
      const target = `${join(folder, transport)}/`;
      await mkdir(target, { recursive: true });
      const options = { "saved in parts": { parallel: 3 }, "saved by structure": { verify: "structure" } }[way];
      try {
        const { path } = await history.saveTo(target, { force: true, ...options });
        const found = await digestOf(rowsOf(path));
        await rm(path);
        return found;
      } finally {
        for (const name of await readdir(target)) {
          tracker.problem("nothing is left on the disk", name.replace(/\d+/g, "N"));
          await rm(join(target, name), { recursive: true });
        }
      }
    }
  });
}

async function* rowsOf(path) {
  for await (const file of openArchive(path).files()) {
    yield* file.rows();
  }
}

/** What rows come to; undefined where not all are read. */
export async function digestOf(rows, leaveAfter = Number.POSITIVE_INFINITY) {
  const hash = createHash("sha256");
  let count = 0;
  for await (const row of rows) {
    if (count >= leaveAfter) {
      return undefined;
    }
    count += 1;
    hash.update(JSON.stringify(row));
  }
  return `${count} ${hash.digest("hex")}`;
}

export function ledger({ tracker, transport, random, client, publicKey }) {
  return tracker.call("ledger", transport, random.between(5000, 20_000), async (signal) => {
    let left = 5000;
    for await (const _ of client.exportLedgerEntries({ partyId: publicKey }, { signal }).rows()) {
      left -= 1;
      if (left === 0) {
        break;
      }
    }
  });
}
