import { setImmediate } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { createClient, signerFromMnemonic } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { changeAccount, listedAccount, readAccount, textOf, textOfChanges } from "../../support/account.js";
import { startCuttingProxy } from "../../support/cutting-proxy.js";
import { eventually } from "../../support/eventually.js";

it.each(["grpc", "rest"] as const)(
  "an account is what the node lists after 200 cuts of the connection, over %s",
  async (transport) => {
    await using node = await startDevnode({ blockMs: 0, segments: 1, blocksPerSegment: 10 });
    await using proxy = await startCuttingProxy(transport === "grpc" ? node.grpcUrl : node.restUrl);
    await using direct = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const urls = { grpc: { url: proxy.url }, rest: { url: proxy.url } };
    await using client = createClient({ transport, ...urls, retry: { baseMs: 1, maxMs: 5 } });
    const signer = await signerFromMnemonic(node.mnemonic);
    const other = await signerFromMnemonic(node.mnemonic, { index: 2 });
    await using account = readAccount(client, signer.publicKey);
    await eventually(() => account.last() !== undefined);
    for (let turn = 0; turn < 200; turn += 1) {
      if (turn % 20 === 0) {
        await eventually(async () => {
          await node.makeBlock();
          return account.last()?.state === "live"; // These cuts make gaps.
        });
      }
      const changing = changeAccount(direct, node, signer, other, turn);
      for (let turns = turn % 20; turns > 0; turns -= 1) {
        await setImmediate(); // The cut comes before, between or after the blocks.
      }
      proxy.cut();
      await changing;
    }
    const listed = await listedAccount(direct, signer.publicKey);
    await eventually(async () => {
      await node.makeBlock(); // Its end shows that the streams of events are open again.
      return account.last()?.state === "live" && JSON.stringify(textOf(account.last())) === JSON.stringify(listed);
    });
    expect(listed.orders.length).toBeGreaterThan(0);
    expect(textOfChanges(account.changes())).toEqual(listed); // Each change continues the one before.
    expect(account.last()?.gaps).toBeGreaterThan(5); // Cuts of a connection that is not open yet again make none.
  },
  240_000,
);
