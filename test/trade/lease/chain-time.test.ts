import { isMessage } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { expect, it } from "@jest/globals";
import { createClient, type LeaseEvent, signerFromMnemonic } from "tradewire";
import { CoreService, GetVegaTimeResponseSchema } from "tradewire/gen/vega/api/v1/core_pb.js";
import { Order_Status } from "tradewire/gen/vega/vega_pb.js";
import { eventually } from "../../support/eventually.js";
import { clientOf, limitOrder, orderOf, startNode } from "../../support/leases.js";

/** Leases that outlive some renewals which fail. */
const LEASES = { leaseMs: 6000, renewEveryMs: 300 };

const YEAR_NS = 365n * 86_400n * 1_000_000_000n;

it.each([
  [1, YEAR_NS],
  [2, YEAR_NS],
  [2, -YEAR_NS],
])("%i wrong times of the chain, off by %i ns, end no renewals and lengthen no lease", async (wrong, offset) => {
  await using node = await startNode();
  await using direct = clientOf(node.grpcUrl);
  let lies = 1; // The first answer is wrong too.
  const lie: Interceptor = (next) => async (req) => {
    const response = await next(req);
    if (lies > 0 && !response.stream && isMessage(response.message, GetVegaTimeResponseSchema)) {
      lies -= 1;
      response.message.timestamp += offset;
    }
    return response;
  };
  await using client = createClient({ profile: "deployed", grpc: { url: node.grpcUrl } }, { interceptors: [lie] });
  using signer = await signerFromMnemonic(node.mnemonic);
  const events: LeaseEvent[] = [];
  const leases = client.leases({ signer, ...LEASES, onEvent: (event) => void events.push(event) });
  const { id, expiresAt } = await leases.submit(limitOrder());
  const now = () => direct.service(CoreService).getVegaTime({});
  expect(expiresAt - (await now()).timestamp).toBeLessThanOrEqual(BigInt(LEASES.leaseMs) * 1_000_000n);
  const count = (kind: LeaseEvent["kind"]) => events.filter((event) => event.kind === kind).length;
  lies = wrong;
  await eventually(() => count("renewalFailed") >= wrong);
  expect(events.find(({ kind }) => kind === "renewalFailed")).toMatchObject({ error: { name: "ProtocolError" } });
  const renewed = count("renewed");
  await eventually(() => count("renewed") >= renewed + 5);
  expect(count("orderEnded")).toBe(0);
  leases.close();
  await eventually(async () => (await orderOf({ client: direct }, id))?.status === Order_Status.EXPIRED);
});
