import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Client, createClient, decodeCsv, NodeError, ProtocolError, type Segment, tableNames } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import type { Unit, UnitCsv } from "tradewire/sync";
import { fetchUnit } from "../../src/sync/fetch-unit.js";
import { taken } from "../support/taken.js";
import { readHistory } from "./inside.js";

const { signal } = new AbortController();

async function bytesOf({ content }: UnitCsv): Promise<Buffer> {
  const { values, error } = await taken(content);
  if (error !== undefined) {
    throw error;
  }
  return Buffer.concat(values);
}

describe.each(["specification", "deployed"] as const)("a unit of a node by the profile %s", (profile) => {
  let node: Devnode;
  let client: Client;
  const unitOf = (table: Unit["table"], first: Segment, last = first): Unit => ({
    chainId: "chain-1",
    table,
    fromBlock: first.fromBlock,
    toBlock: last.toBlock,
    segmentId: last.id,
    previousSegmentId: first.previousId,
    schemaVersion: last.schemaVersion,
  });

  beforeAll(async () => {
    const history = { segments: 3, blocksPerSegment: 10, schemaVersions: [115, 116, 116] };
    node = await startDevnode({ chainId: "chain-1", profile, blockMs: 0, ...history });
    client = createClient({ transport: "grpc", profile, grpc: { url: node.grpcUrl } });
  });
  afterAll(async () => {
    await client.close();
    await node.close();
  });

  it("is the CSV file of the export, byte for byte, with what was counted", async () => {
    const { chainId, segments } = await readHistory([client], signal);
    expect([chainId, segments.map(({ toBlock }) => toBlock)]).toEqual(["chain-1", [10n, 20n, 30n]]);
    const [first, second, third] = segments;
    if (first === undefined || second === undefined) {
      throw new Error("the node has three segments");
    }
    let rows = 0n;
    for (const unit of tableNames.flatMap((table) => [unitOf(table, first), unitOf(table, second, third)])) {
      const { table, fromBlock, toBlock } = unit;
      const zip = await client.exportNetworkHistory({ table, fromBlock, toBlock }).toZip();
      const [file] = Object.values(zip.files);
      const source = (await file?.async("nodebuffer")) ?? Buffer.alloc(0);
      const seen: number[] = [];
      const csv = await fetchUnit(client, unit, { signal, onBytes: (bytes) => seen.push(bytes) })();
      expect((await bytesOf(csv)).equals(source)).toBe(true);
      const batches = (await taken(decodeCsv([source]))).values;
      expect(csv.columns).toEqual(batches[0]?.columns);
      const measures = {
        rows: BigInt(batches.flatMap((batch) => batch.rows).length),
        bytes: BigInt(source.length),
        sha256: createHash("sha256").update(source).digest("hex"),
      };
      expect(csv.measures()).toEqual(measures);
      expect([seen.at(-1), seen.length > 0]).toEqual([source.length, true]);
      rows += measures.rows;
    }
    expect(rows).toBeGreaterThan(100n);
  });

  it("is refused where the node says what the unit does not", async () => {
    const { segments } = await readHistory([client], signal);
    const [first, second] = segments;
    if (first === undefined || second === undefined) {
      throw new Error("the node has three segments");
    }
    const elsewhere = fetchUnit(client, { ...unitOf("trades", first), chainId: "chain-2" }, { signal })();
    await expect(elsewhere).rejects.toThrow('contains the chain "chain-1", but "chain-2" was requested');
    const across = fetchUnit(client, unitOf("trades", first, second), { signal })();
    await expect(across).rejects.toThrow(ProtocolError);
    const off = fetchUnit(client, { ...unitOf("trades", first), toBlock: 7n }, { signal })();
    await expect(off).rejects.toThrow(NodeError);
  });
});
