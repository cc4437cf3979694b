import { expect, it } from "@jest/globals";
import { signerFromMnemonic } from "tradewire";
import { Market_TradingMode } from "tradewire/gen/vega/markets_pb.js";
import { clientOfChangedMarkets } from "../../support/changed-markets.js";
import { openMarket } from "../../support/devnode.js";
import { eventually } from "../../support/eventually.js";
import { clientOf, marketOf, startNode, TIMES, trade } from "../../support/leases.js";

it("a position is uncovered while its market is in an auction, and covered after it", async () => {
  await using node = await startNode();
  await using direct = clientOf(node.grpcUrl);
  let mode = Market_TradingMode.MONITORING_AUCTION;
  await using client = clientOfChangedMarkets(node, (data) => {
    data.marketTradingMode = data.market === openMarket ? mode : data.marketTradingMode;
  });
  using signer = await signerFromMnemonic(node.mnemonic);
  await trade({ client: direct, signer }, 2n);
  await using leases = client.leases({ signer, ...TIMES });
  const position = () => marketOf({ leases })?.position;
  const cause = () => {
    const now = position();
    return now?.status === "uncovered" ? now.cause : undefined;
  };
  await eventually(() => cause() === "auction");
  expect(position()).toMatchObject({ status: "uncovered", reason: expect.stringContaining("auction") });
  mode = Market_TradingMode.CONTINUOUS;
  await eventually(() => position()?.status === "covered");
});
