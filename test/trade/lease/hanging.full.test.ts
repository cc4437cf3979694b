import type { Interceptor } from "@connectrpc/connect";
import { expect, it } from "@jest/globals";
import { createClient, type LeaseEvent, signerFromMnemonic } from "tradewire";
import { eventually } from "../../support/eventually.js";
import { isCovered, limitOrder, passes, startNode, TIMES, trade } from "../../support/leases.js";

/** What renewals read of the data node. The limits of the network are read once a minute. */
const CALLS = ["GetLatestMarketData", "GetNetworkParameter"];

it("renewals go on although the data node does not answer", async () => {
  await using node = await startNode();
  const hung = new Set<string>();
  let isHanging = false;
  const hang: Interceptor = (next) => async (req) => {
    if (!isHanging || !CALLS.includes(req.method.name)) {
      return next(req);
    }
    hung.add(req.method.name);
    return new Promise<never>((_, reject) => {
      req.signal.addEventListener("abort", () => reject(req.signal.reason));
    });
  };
  await using client = createClient({ profile: "deployed", grpc: { url: node.grpcUrl } }, { interceptors: [hang] });
  using signer = await signerFromMnemonic(node.mnemonic);
  const events: LeaseEvent[] = [];
  await using leases = client.leases({ signer, ...TIMES, onEvent: (event) => void events.push(event) });
  await leases.submit(limitOrder());
  await trade({ client, signer }, 2n);
  await eventually(() => isCovered({ leases }));
  isHanging = true;
  for (let part = 0; part < 4; part += 1) {
    await passes({ leases }, 17_000); // Together more than a minute.
  }
  expect([...hung].sort()).toEqual(CALLS);
  expect(events.filter(({ kind }) => kind === "orderEnded" || kind === "positionClosing")).toEqual([]);
  expect(isCovered({ leases })).toBe(true);
});
