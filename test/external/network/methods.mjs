// Every method of the interface, called once over gRPC and once over REST: both give the same.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { create, toJson } from "@bufbuild/protobuf";
import { NodeError, RequestError } from "tradewire";
import { CoreService, CoreStateService, TradingDataService } from "tradewire/api";
import { ask, errorOf, nameOf } from "./asking.mjs";
import { TDAI } from "./network.mjs";
import { LeftOut } from "./report.mjs";

/** Methods that are called by the groups that their effects belong to. */
const ELSEWHERE = new Set([
  "submitTransaction",
  "submitRawTransaction",
  "checkTransaction",
  "checkRawTransaction",
  "exportNetworkHistory",
]);

const UNKNOWN = "e".repeat(64);

/** Why a method has no path in REST, or must not be called. */
const REASONS = {
  propagateChainEvent: "it is for validators' own bridges",
};
const CORE_BUS = "the core's REST has no WebSockets; its gRPC is used throughout";

/** Methods whose values change from call to call: their fields are compared alone. */
const CHANGING = new Set(["statistics", "listLatestMarketData"]);

/** How often a pair of calls is made, as what they read may change in between. */
const TRIES = 4;

/** How long the first message of a stream is waited for, in milliseconds. */
const STREAM_MS = 4000;

/** How much of an answer is recorded, in records of each list. */
const KEPT_RECORDS = 1;

/** Make the cases. */
export function methodCases({ network, market, report, recording }) {
  const { grpc, rest, coreGrpc, coreRest } = network.clients;
  const counts = { equal: 0, errors: 0, streams: 0 };
  const onlyGrpc = [];

  /** Values of request fields, by their names: what this run has made. */
  const known = lazily(async () => {
    const { id: marketId, alice, bob } = await market();
    const { data } = network.services;
    const partyId = alice.publicKey;
    const { orders } = await data.listOrders({ filter: { partyIds: [partyId] } });
    const { proposal } = (await data.listGovernanceData({ proposerPartyId: partyId })).connection.edges[0].node;
    const { nodes } = await data.listNodes({});
    const nodeId = nodes.edges[0].node.id;
    const { intervalToCandleId } = await data.listCandleIntervals({ marketId });
    const candleId = intervalToCandleId.find(({ interval }) => interval === "1 minute")?.candleId;
    const { oracleSpecs } = await data.listOracleSpecs({});
    const { deposits } = await data.listDeposits({ partyId });
    const { withdrawals } = await data.listWithdrawals({});
    const { transfers } = await data.listTransfers({ pubkey: partyId, direction: 3 });
    const { orders: stopOrders } = await data.listStopOrders({});
    const { teams } = await data.listTeams({});
    const spec = oracleSpecs.edges[0].node.externalDataSourceSpec.spec;
    const now = BigInt(Date.now()) * 1_000_000n;
    const dateRange = { startTimestamp: now - 3_600_000_000_000n, endTimestamp: now };
    const order = orders.edges[0]?.node;
    const result = [...network.bus.hashes()].at(-1);
    return {
      ids: {
        marketId,
        market: marketId,
        partyId,
        party: partyId,
        pubkey: partyId,
        partyIds: [partyId],
        parties: [partyId],
        marketIds: [marketId],
        assetId: TDAI,
        asset: TDAI,
        orderId: order?.id,
        nodeId,
        node: nodeId,
        candleId,
        oracleSpecId: spec.id,
        proposalId: proposal.id,
        transferId: transfers.edges[0]?.node?.transfer?.id ?? UNKNOWN,
        teamId: teams.edges[0]?.node?.teamId ?? UNKNOWN,
        referee: UNKNOWN,
        withdrawalId: withdrawals.edges[0]?.node?.id,
        key: "spam.pow.difficulty",
        networkParameterKey: "spam.pow.difficulty",
        transactionHash: result,
        fromAccount: partyId,
        toAccount: bob.publicKey,
        amount: "100",
        price: "10000000000",
        size: 1n,
        basePrice: "10000000000",
        upperPrice: "11000000000",
        lowerPrice: "9000000000",
        leverageAtUpperPrice: "1",
        leverageAtLowerPrice: "1",
        commitmentAmount: "100000000000",
        openVolume: 1n,
        averageEntryPrice: "10000000000",
        marginAccountBalance: "1000000",
        generalAccountBalance: "1000000",
        orderMarginAccountBalance: "0",
        marginMode: 1,
        maxDepth: 5n,
        dateRange,
      },
      getDeposit: { id: deposits.edges[0]?.node?.id },
      getWithdrawal: { id: withdrawals.edges[0]?.node?.id },
      getNode: { id: nodeId },
      listNodeSignatures: { id: nodeId },
      getStopOrder: { orderId: stopOrders.edges[0]?.node?.stopOrder?.id ?? UNKNOWN },
      listLedgerEntries: { filter: { fromAccountFilter: { partyIds: [partyId], assetId: TDAI } }, dateRange },
      listBalanceChanges: { filter: { partyIds: [partyId], assetId: TDAI }, dateRange },
      listEpochRewardSummaries: { filter: { fromEpoch: 1n, toEpoch: 2n } },
      estimateFee: { side: 1 },
      estimateMargin: { side: 1, type: 1 },
      estimateTransferFee: { fromAccountType: 4 },
      // A data node ends when this is called for an asset that is built in, so it is not told one that it has.
      getERC20ListAssetBundle: { assetId: UNKNOWN },
      getGovernanceData: { proposalId: proposal.id },
      listVotes: { proposalId: proposal.id },
      listTransfers: { direction: 3 },
      getFeesStats: { assetId: "", marketId },
      listSuccessorMarkets: { marketId },
      exportLedgerEntries: { partyId, assetId: TDAI, dateRange },
    };
  });

  /** The request of a method: its own values, and those that its fields' names stand for. */
  async function requestFor(method) {
    const { ids, ...own } = await known();
    const filled = method.input.fields
      .filter(({ localName, fieldKind }) => localName in ids && ids[localName] !== undefined && fieldKind !== "map")
      .map(({ localName }) => [localName, ids[localName]]);
    return create(method.input, { ...Object.fromEntries(filled), ...own[method.localName] });
  }

  function clientsOf({ parent }) {
    return parent === TradingDataService ? [grpc, rest, "data"] : [coreGrpc, coreRest, "core"];
  }

  async function unary(method, signal) {
    const request = await requestFor(method);
    const [overGrpc, overRest, node] = clientsOf(method);
    const look = CHANGING.has(method.localName) ? fieldsOf : normal;
    let answer;
    let other;
    for (let tries = 0; tries < TRIES; tries++) {
      const calls = [ask(overGrpc, method, request, { signal }), askRest(overRest, method, request, { signal })];
      [answer, other] = await Promise.all(calls);
      if (other === undefined || isDeepStrictEqual(look(answer), look(other))) {
        break;
      }
    }
    recording.keep("methods", {
      name: `${method.parent.name}.${method.localName}`,
      node,
      method: nameOf(method),
      request: toJson(method.input, request),
      ...shortened(answer),
    });
    if (other === undefined) {
      onlyGrpc.push(method.localName);
      return;
    }
    assert.deepEqual(look(other), look(answer));
    counts[answer.error === undefined ? "equal" : "errors"] += 1;
  }

  /** The kind of each first message of a stream: which messages come depends on what happens meanwhile. */
  async function stream(method, signal) {
    const request = await requestFor(method);
    const [overGrpc, overRest] = clientsOf(method);
    const first = await Promise.all([overGrpc, overRest].map((client) => firstOf(client, method, request, signal)));
    counts.streams += 1;
    assert.deepEqual(first[1], first[0]);
  }

  const methods = [TradingDataService, CoreService, CoreStateService].flatMap((service) => service.methods);
  const cases = methods
    .filter(({ localName }) => !ELSEWHERE.has(localName))
    .map((method) => ({
      group: "methods",
      name: `${method.parent.name}.${method.localName}`,
      async check(signal) {
        const reason =
          REASONS[method.localName] ??
          (method.methodKind === "bidi_streaming" && method.parent === CoreService ? CORE_BUS : undefined);
        if (reason !== undefined) {
          throw new LeftOut(reason);
        }
        await (method.methodKind === "unary" ? unary(method, signal) : stream(method, signal));
      },
    }));
  const last = {
    group: "methods",
    name: "what was compared",
    async check() {
      const { equal, errors, streams } = counts;
      report.figure(
        "methods over gRPC and REST",
        `${equal} equal answers, ${errors} equal errors, ${streams} streams; without a path in REST: ${onlyGrpc.join(", ")}`,
      );
    },
  };
  return [...cases, last];
}

/** What comes of a call over REST; `undefined` where the method has no path. */
async function askRest(...call) {
  try {
    return await ask(...call);
  } catch (error) {
    if (error instanceof RequestError && /has no HTTP rule/.test(error.summary)) {
      return undefined;
    }
    throw error;
  }
}

/** The names of all fields of an answer. */
function fieldsOf(value) {
  if (Array.isArray(value)) {
    return value.slice(0, 1).map(fieldsOf);
  }
  return typeof value !== "object" || value === null
    ? typeof value
    : Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fieldsOf(each)]));
}

/** What comes first: the fields of the first message, an error, or nothing. */
async function firstOf(client, method, request, signal) {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), STREAM_MS);
  try {
    const options = { signal: AbortSignal.any([signal, ending.signal]) };
    const input = method.methodKind === "bidi_streaming" ? once(request, ending.signal) : request;
    for await (const message of client.service(method.parent)[method.localName](input, options)) {
      return { message: Object.keys(toJson(method.output, message)).sort() };
    }
    return { message: "end" };
  } catch (error) {
    if (ending.signal.aborted) {
      return { message: "none" };
    }
    if (!(error instanceof NodeError)) {
      throw error;
    }
    return { error: errorOf(error) };
  } finally {
    clearTimeout(timer);
    ending.abort();
  }
}

async function* once(request, signal) {
  yield request;
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

/** An answer whose lists are in one order: the core's come from maps, in an order that changes from call to call. */
function normal(value) {
  if (Array.isArray(value)) {
    return value.map(normal).sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, normal(each)]));
}

/** An answer with the first records of each list. */
function shortened(result) {
  const short = (value) => {
    if (Array.isArray(value)) {
      return value.slice(0, KEPT_RECORDS).map(short);
    }
    return typeof value !== "object" || value === null
      ? value
      : Object.fromEntries(Object.entries(value).map(([key, each]) => [key, short(each)]));
  };
  return short(result);
}

function lazily(make) {
  let made;
  return () => {
    made ??= make();
    return made;
  };
}
