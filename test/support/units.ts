import { createHash } from "node:crypto";
import type { TableName } from "tradewire";
import type { FetchUnit, SinkOpening, Unit, UnitCsv } from "tradewire/sync";

/** A unit of a made-up chain, whose segment ids are made of their last blocks. */
export function unitOf(table: TableName, fromBlock: number, toBlock: number, more: Partial<Unit> = {}): Unit {
  return {
    chainId: "chain-1",
    table,
    fromBlock: BigInt(fromBlock),
    toBlock: BigInt(toBlock),
    segmentId: `segment-${toBlock}`,
    previousSegmentId: fromBlock === 1 ? "" : `segment-${fromBlock - 1}`,
    schemaVersion: 116n,
    ...more,
  };
}

/** The CSV file of blocks, one row each. */
export function blocksCsv(fromBlock: number, toBlock: number): string {
  const rows = Array.from({ length: toBlock - fromBlock + 1 }, (_, index) => {
    const height = fromBlock + index;
    const time = new Date(Date.UTC(2024, 0, 1) + height * 1000).toISOString().replace("Z", "000+00");
    return `${time.replace("T", " ")},${height},\\x${height.toString(16).padStart(16, "0")}\n`;
  });
  return `vega_time,height,hash\n${rows.join("")}`;
}

/** What counts as a fetch of a CSV file, in parts; `before` runs before each of them. */
export function fetchOf(csv: string, parts = 3, before: (part: number) => unknown = () => undefined): FetchUnit {
  const bytes = Buffer.from(csv);
  const [header = "", ...rows] = csv.trimEnd().split("\n");
  const measures = {
    rows: BigInt(rows.length),
    bytes: BigInt(bytes.length),
    sha256: createHash("sha256").update(bytes).digest("hex"),
  };
  async function* content(): UnitCsv["content"] {
    for (let part = 0; part < parts; part += 1) {
      await before(part);
      yield bytes.subarray((bytes.length * part) / parts, (bytes.length * (part + 1)) / parts);
    }
  }
  return async () => ({ columns: header.split(","), content: content(), measures: () => measures });
}

/** How a sink is opened in tests. */
export function openingOf(more: Partial<SinkOpening> = {}): SinkOpening {
  return {
    chainId: "chain-1",
    tables: ["blocks"],
    onUnknown: () => undefined,
    unknownColumns: "add",
    signal: new AbortController().signal,
    ...more,
  };
}

/** Lists rows in one batch. */
export async function* batchOf<T>(...rows: readonly T[]): AsyncGenerator<readonly T[]> {
  yield rows;
}
