// A market of its own for each run: proposed, voted for, enacted and opened by two parties.
import { vega } from "tradewire/api";
import { eventually, TDAI } from "./network.mjs";

const { Side, Order_TimeInForce: TimeInForce, Order_Type: Type, Vote_Value, Market_State } = vega;

/** The price at which the market opens, in its 5 decimals. */
export const PRICE = 10_000_000_000n;

/** How long before a proposal closes, and until it is enacted, in seconds; the votes must be in a block by then. */
const CLOSING_SECONDS = 15;
const ENACTMENT_SECONDS = 17;

/** A price relative to the opening price, in per cent. */
export const percent = (value) => String((PRICE * BigInt(value)) / 100n);

/** Make a limit order. */
export function limitOrder(marketId, side, price, size = 1n, more = {}) {
  const value = {
    marketId,
    side: Side[side],
    price: String(price),
    size,
    timeInForce: TimeInForce.GTC,
    type: Type.LIMIT,
    ...more,
  };
  return { case: "orderSubmission", value };
}

/** The time in some seconds, in seconds since 1970. */
export const inSeconds = (seconds) => BigInt(Math.floor(Date.now() / 1000) + seconds);

/** A data source: values that a key signs, by name. */
function oracle(key, name, type) {
  const filter = { key: { name, type, numberDecimalPlaces: type === 2 ? 5n : undefined }, conditions: [] };
  const signers = [{ signer: { case: "pubKey", value: { key } } }];
  const source = { case: "oracle", value: { signers, filters: [filter] } };
  return { sourceType: { case: "external", value: { sourceType: source } } };
}

/** The configuration of a futures market that settles in tDAI by data that a key signs. */
export function marketChanges(key, code) {
  return {
    instrument: {
      name: code,
      code,
      product: {
        case: "future",
        value: {
          settlementAsset: TDAI,
          quoteName: "BTC",
          dataSourceSpecForSettlementData: oracle(key, "price.BTC.value", 2),
          dataSourceSpecForTradingTermination: oracle(key, "trading.terminated", 4),
          dataSourceSpecBinding: {
            settlementDataProperty: "price.BTC.value",
            tradingTerminationProperty: "trading.terminated",
          },
        },
      },
    },
    decimalPlaces: 5n,
    positionDecimalPlaces: 0n,
    metadata: ["base:BTC"],
    liquidityMonitoringParameters: {
      targetStakeParameters: { timeWindow: 3600n, scalingFactor: 1 },
      triggeringRatio: "0.7",
      auctionExtension: 0n,
    },
    priceMonitoringParameters: { triggers: [{ horizon: 86400n, probability: "0.999999", auctionExtension: 5n }] },
    riskParameters: {
      case: "logNormal",
      value: { riskAversionParameter: 0.01, tau: 1.90128526884173e-6, params: { mu: 0, r: 0.016, sigma: 3 } },
    },
    linearSlippageFactor: "0.001",
    quadraticSlippageFactor: "0",
    liquiditySlaParameters: {
      priceRange: "1",
      commitmentMinTimeFraction: "0.95",
      performanceHysteresisEpochs: 1n,
      slaCompetitionFactor: "1",
    },
    liquidationStrategy: {
      disposalTimeStep: 1n,
      disposalFraction: "1",
      fullDisposalSize: 1_000_000_000n,
      maxFractionConsumed: "0.5",
      disposalSlippageRange: "0.5",
    },
    markPriceConfiguration: { compositePriceType: 3 },
    tickSize: "1",
    enableTransactionReordering: true,
  };
}

/** The proposal of a change, open for votes for some seconds. */
export function proposal(reference, change, { closing = CLOSING_SECONDS, enactment = ENACTMENT_SECONDS } = {}) {
  const terms = { closingTimestamp: inSeconds(closing), enactmentTimestamp: inSeconds(enactment), change };
  const rationale = { title: reference, description: `a test: ${reference}` };
  return { case: "proposalSubmission", value: { reference, rationale, terms } };
}

/** Open a market when it is first asked for. */
export function createMarket(network) {
  let opened;
  return () => {
    opened ??= open(network);
    return opened;
  };
}

async function open(network) {
  const client = network.clients.coreGrpc;
  const { data } = network.services;
  const [alice, bob] = ["alice", "bob"].map(network.signer);
  await network.fund([alice, bob]);
  const send = (command, signer) => client.sendCommand(command, { signer });
  const reference = `market-${network.run}`;
  const value = { changes: marketChanges(alice.publicKey, reference) };
  await send(proposal(reference, { case: "newMarket", value }), alice);
  const { id } = await eventually("the proposal of the market", async () => {
    const { connection } = await data.listGovernanceData({ proposerPartyId: alice.publicKey });
    return connection?.edges.map(({ node }) => node?.proposal).find((found) => found?.reference === reference);
  });
  for (const signer of [alice, bob]) {
    await send({ case: "voteSubmission", value: { proposalId: id, value: Vote_Value.YES } }, signer);
  }
  const state = (wanted) => async () => {
    const { markets } = await data.listMarkets({});
    return markets?.edges.find(({ node }) => node?.id === id && node.state === wanted);
  };
  await eventually("the enacted market", state(Market_State.PENDING));
  await send(limitOrder(id, "BUY", PRICE, 10n), alice);
  await send(limitOrder(id, "SELL", PRICE, 10n), bob);
  await send(limitOrder(id, "BUY", percent(99), 100n), alice);
  await send(limitOrder(id, "SELL", percent(101), 100n), bob);
  await eventually("the open market", state(Market_State.ACTIVE));
  return { id, alice, bob };
}
