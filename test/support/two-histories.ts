import { expect } from "@jest/globals";
import { createClient } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { DivergenceError, type Sink, syncHistory, verifySync } from "tradewire/sync";
import { settings } from "./syncing.js";

const tables = ["trades", "blocks"] as const;

/**
 * Sync two histories of one chain into an empty target at the same time, and expect that one of them is loaded, and the other one
 * only where that is asked for.
 */
export async function expectOneOfTwoHistories(makeSink: () => Sink): Promise<void> {
  await using first = await startDevnode(settings);
  await using second = await startDevnode({ ...settings, activity: 2, schemaVersions: [116] });
  const clients = [first, second].map(({ grpcUrl: url }) => createClient({ grpc: { url }, retry: { tries: 1 } }));
  try {
    const sync = (index: number, replaceFrom?: number) =>
      syncHistory(clients[index] ?? [], { sink: makeSink(), tables, replaceFrom });
    const expectWhole = async (index: number) => {
      const verified = await verifySync(makeSink(), { clients: clients[index] ?? [], deep: true, tables });
      expect(verified).toMatchObject({ units: 8, compared: 8, unsound: 0, missing: 0n });
    };
    const ends = await Promise.allSettled([sync(0), sync(1)]);
    expect(ends.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const winner = ends.findIndex(({ status }) => status === "fulfilled");
    const [refused] = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
    expect(refused).toBeInstanceOf(DivergenceError);
    // By the mark of the history, or, if the other sync has loaded units already, by these.
    expect(String(refused)).toMatch(/the histories diverge: .*(ends? with block|but the node has segment)/);
    expect(String(refused)).toMatch(/To replace the history .* replaceFrom \(--replace-from-block\)/);
    await expectWhole(winner);
    expect(await sync(winner)).toMatchObject({ units: 0, failed: [] });

    expect(await sync(1 - winner, 1)).toMatchObject({ units: 8, failed: [] });
    await expectWhole(1 - winner);
    await expect(sync(winner)).rejects.toThrow(DivergenceError);
    expect(await sync(1 - winner)).toMatchObject({ units: 0, failed: [] });
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}
