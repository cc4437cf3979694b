// Every kind of command: the hash, the outcome that the client reports, and what the network's own events and its block
// index say about the same transaction.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { create, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import { CommandError, TransactionError } from "tradewire";
import { vega, vegaCommandsV1, vegaEventsV1 } from "tradewire/api";
import { limitOrder, PRICE, percent, proposal } from "./market.mjs";
import { eventually, TDAI, VOTE } from "./network.mjs";
import { LeftOut } from "./report.mjs";

const { Side, Order_TimeInForce: TimeInForce, Order_Type: Type, AccountType } = vega;
const { InputDataSchema } = vegaCommandsV1;
const { TransactionResultSchema } = vegaEventsV1;

/** All kinds of commands that the definitions know. */
const KINDS = InputDataSchema.oneofs.find(({ name }) => name === "command").fields.map(({ localName }) => localName);

const EXECUTED = { status: "executed" };
const failed = (reason) => ({ status: "failed", reason });
const refused = (code, reason) => ({ status: "refused", code, reason });
/** What the network answers to commands of validators from anybody else (core/processor/abci.go). */
const NOT_A_VALIDATOR = refused(70, /^node signature not s/);

const ETHEREUM = `0x${"a".repeat(40)}`;
const UNKNOWN = "e".repeat(64);
const SIGNATURE = { value: "aa", algo: "vega/ed25519", version: 1 };

/** The outcome of a transaction that the network drops without a result comes only when its block is too old. */
const TIMEOUT_MS = 200_000;

/** Make the identifier of what a transaction brings. */
export function idOf(signature, at = 0) {
  let id = Buffer.from(signature, "hex");
  for (let index = 0; index <= at; index++) {
    id = createHash("sha3-256").update(id).digest();
  }
  return id.toString("hex");
}

/** Make the cases. */
export function commandCases(setting) {
  const { network, report, recording, market } = setting;
  const kept = {};
  const outcomes = [];
  const sentKinds = new Set();

  /** Send a command, and compare what the client says with what the network says. */
  async function check(name, { by, command, expected, result: ofNetwork, keep }, signal) {
    const { id, ...parties } = await market();
    const source = await command({ ...parties, id, kept });
    const signer = parties[by] ?? (await party(by));
    sentKinds.add(source.case);
    recording.describe("command-kinds", { market: id, alice: parties.alice.publicKey, bob: parties.bob.publicKey });
    const { sent, status, reason, block, code } = await send(source, signer, signal);
    const said = [status, code === undefined ? "" : `(code ${code})`, reason === undefined ? "" : `"${reason}"`];
    outcomes.push(`${source.case.padEnd(29)} | ${name}: ${said.filter(Boolean).join(" ")}`);
    if (status === "executed") {
      keep?.(sent, kept);
    }
    assert.notEqual(status, "not sent", `the client refuses it: ${reason}`);
    const isTaken = status !== "refused";
    const result = isTaken && expected.status !== "unknown" ? await network.bus.resultOf(sent.txHash) : undefined;
    recording.keep("command-kinds", {
      name,
      by,
      key: signer.publicKey,
      ...(sent.transaction === undefined ? {} : { id: idOf(sent.transaction.signature.value) }),
      kind: source.case,
      command: json(source),
      answer: isTaken ? { success: true, code: 0, txHash: sent.txHash } : { success: false, code, data: reason },
      ...(result === undefined ? {} : { result: shortResult(result) }),
      ...(isTaken ? { events: network.bus.eventsOf(sent.txHash).map(({ event }) => event.case) } : {}),
      outcome: { status, ...(reason === undefined ? {} : { reason }) },
    });
    assert.equal(status, expected.status, `the client says ${status}: ${reason}`);
    assert.equal(code, expected.code);
    if (expected.reason !== undefined) {
      assert.match(reason, expected.reason);
    }
    if (!isTaken || status === "unknown") {
      return;
    }
    assert.ok(result !== undefined, `the network's bus has no result under the client's hash ${sent.txHash}`);
    assert.equal(result.event.value.status, (ofNetwork ?? status) === "executed", "status of the network's result");
    if (network.urls.comet !== undefined) {
      const indexed = await eventually("the transaction in CometBFT's index", () => network.cometBlock(sent.txHash));
      assert.equal(block, indexed, "block in CometBFT's index");
    }
  }

  async function send(source, signer, signal) {
    try {
      const options = { signer, signal, until: "executed", timeoutMs: TIMEOUT_MS };
      const { outcome, ...sent } = await network.clients.grpc.sendCommand(source, options);
      return { sent, status: outcome.status, reason: outcome.reason, block: outcome.block };
    } catch (error) {
      if (error instanceof CommandError) {
        return { sent: {}, status: "not sent", reason: error.summary };
      }
      if (error instanceof TransactionError) {
        return { sent: {}, status: "refused", code: error.result.code, reason: error.result.data };
      }
      throw error;
    }
  }

  /** Parties beside those of the market: each is funded when it is first needed, but for those without funds. */
  const parties = new Map();
  function party(name) {
    if (!parties.has(name)) {
      const signer = network.signer(name);
      parties.set(name, name === "poor" ? Promise.resolve(signer) : network.fundAndWait([signer]).then(() => signer));
    }
    return parties.get(name);
  }

  const cases = Object.entries(steps(setting)).map(([name, step]) => ({
    group: "commands",
    name,
    check: (signal) => check(name, step, signal),
  }));
  const last = {
    group: "commands",
    name: `all ${KINDS.length} kinds were sent`,
    async check() {
      report.figure("commands and their outcomes", outcomes);
      const missing = KINDS.filter((kind) => !sentKinds.has(kind));
      assert.deepEqual(missing, []);
    },
  };
  return [...cases, last];
}

/** The commands, in their order: later ones need what earlier ones made. */
function steps(setting) {
  return {
    ...orders,
    ...stopOrders,
    ...transfers(setting),
    ...governance,
    ...liquidity,
    ...marginMode,
    ...stake(setting),
    ...referrals,
    ...accounts,
    ...validators,
  };
}

/** Keep the identifier of what an executed transaction made, for later commands. */
const keepId = (name, at) => (sent, kept) => {
  kept[name] = idOf(sent.transaction.signature.value, at);
};

const orders = {
  "limit order": {
    by: "alice",
    command: ({ id }) => limitOrder(id, "BUY", percent(95), 2n),
    expected: EXECUTED,
    keep: keepId("order"),
  },
  amendment: {
    by: "alice",
    command: ({ id, kept }) => ({
      case: "orderAmendment",
      value: { marketId: id, orderId: kept.order, price: percent(96), sizeDelta: 1n },
    }),
    expected: EXECUTED,
  },
  "amendment of another party's order": {
    by: "bob",
    command: ({ id, kept }) => ({
      case: "orderAmendment",
      value: { marketId: id, orderId: kept.order, price: percent(96) },
    }),
    expected: failed(/Invalid Party ID/),
  },
  cancellation: {
    by: "alice",
    command: ({ id, kept }) => ({ case: "orderCancellation", value: { marketId: id, orderId: kept.order } }),
    expected: EXECUTED,
  },
  "amendment of an unknown order": {
    by: "alice",
    command: ({ id }) => ({ case: "orderAmendment", value: { marketId: id, orderId: UNKNOWN, price: percent(96) } }),
    expected: failed(/Invalid Order ID/),
  },
  "cancellation of a cancelled order": {
    by: "alice",
    command: ({ id, kept }) => ({ case: "orderCancellation", value: { marketId: id, orderId: kept.order } }),
    expected: failed(/unable to find the order in the market/),
  },
  "order that trades": {
    by: "alice",
    command: ({ id }) => limitOrder(id, "BUY", percent(101), 3n, { timeInForce: TimeInForce.IOC }),
    expected: EXECUTED,
  },
  "post-only order that would trade": {
    by: "alice",
    command: ({ id }) => limitOrder(id, "BUY", percent(101), 1n, { postOnly: true }),
    expected: failed(/post only order would trade/),
  },
  "order beyond the margin": {
    by: "alice",
    command: ({ id }) => limitOrder(id, "BUY", PRICE, 4_000_000_000n),
    expected: failed(/margin check failed/),
  },
  "order that is expired": {
    by: "alice",
    command: ({ id }) =>
      limitOrder(id, "BUY", percent(95), 1n, { timeInForce: TimeInForce.GTT, expiresAt: 1_500_000_000_000_000_000n }),
    expected: failed(/invalid expiresAt time/),
  },
  "order in an unknown market": {
    by: "alice",
    command: () => limitOrder(UNKNOWN, "BUY", PRICE),
    expected: refused(70, /^market does not exist$/),
  },
  "order of a party without account": {
    by: "poor",
    command: ({ id }) => limitOrder(id, "BUY", PRICE),
    expected: refused(70, /is not eligible to submit order transactions in market/),
  },
  "batch: two orders, a pair of stop orders": {
    by: "alice",
    command: ({ id }) => ({
      case: "batchMarketInstructions",
      value: {
        submissions: [limitOrder(id, "BUY", percent(90)).value, limitOrder(id, "BUY", percent(91)).value],
        stopOrdersSubmission: [{ fallsBelow: stopOrder(id, "2") }],
      },
    }),
    expected: EXECUTED,
    keep: (sent, kept) => {
      keepId("first", 0)(sent, kept);
      keepId("second", 1)(sent, kept);
    },
  },
  "batch: a part fails": {
    by: "alice",
    command: ({ id, kept }) => ({
      case: "batchMarketInstructions",
      value: {
        cancellations: [
          { marketId: id, orderId: kept.first },
          { marketId: id, orderId: UNKNOWN },
        ],
      },
    }),
    expected: { status: "partial", reason: /unable to find the order in the market/ },
  },
  "batch: all of it fails": {
    by: "alice",
    command: ({ id }) => ({
      case: "batchMarketInstructions",
      value: { cancellations: [{ marketId: id, orderId: UNKNOWN }] },
    }),
    expected: failed(/unable to find the order in the market/),
  },
};

/** The setup of a stop order that sells one contract. */
function stopOrder(marketId, price) {
  const value = {
    marketId,
    side: Side.SELL,
    size: 1n,
    timeInForce: TimeInForce.IOC,
    type: Type.MARKET,
    reduceOnly: true,
  };
  return { orderSubmission: value, trigger: { case: "price", value: price } };
}

const stopOrders = {
  "pair of stop orders": {
    by: "alice",
    command: ({ id }) => ({
      case: "stopOrdersSubmission",
      value: { fallsBelow: stopOrder(id, percent(10)), risesAbove: stopOrder(id, percent(300)) },
    }),
    expected: EXECUTED,
    keep: keepId("stopOrder"),
  },
  "stop order without position and order": {
    by: "carol",
    command: ({ id }) => ({ case: "stopOrdersSubmission", value: { fallsBelow: stopOrder(id, percent(10)) } }),
    expected: failed(/WITHOUT_A_POSITION|without a position/i),
    result: "executed",
  },
  "cancellation of a stop order": {
    by: "alice",
    command: ({ id, kept }) => ({
      case: "stopOrdersCancellation",
      value: { marketId: id, stopOrderId: kept.stopOrder },
    }),
    expected: EXECUTED,
  },
};

function transfers({ network }) {
  const transfer = (more) => ({
    case: "transfer",
    value: {
      fromAccountType: AccountType.GENERAL,
      toAccountType: AccountType.GENERAL,
      to: network.signer("bob").publicKey,
      asset: TDAI,
      amount: "12345",
      reference: "test",
      kind: { case: "oneOff", value: { deliverOn: 0n } },
      ...more,
    },
  });
  const recurring = async () => {
    const { epoch } = await network.services.data.getEpoch({});
    return transfer({ kind: { case: "recurring", value: { startEpoch: epoch.seq + 2n, factor: "0.5" } } });
  };
  return {
    transfer: { by: "alice", command: () => transfer({}), expected: EXECUTED },
    "delayed transfer": {
      by: "alice",
      command: () =>
        transfer({ kind: { case: "oneOff", value: { deliverOn: BigInt(Date.now() + 3_600_000) * 1_000_000n } } }),
      expected: EXECUTED,
    },
    "transfer to the treasury": {
      by: "alice",
      command: () => transfer({ to: "0".repeat(64), toAccountType: AccountType.NETWORK_TREASURY }),
      expected: EXECUTED,
    },
    "transfer beyond the balance": {
      by: "alice",
      command: () => transfer({ amount: String(10n ** 24n) }),
      expected: refused(70, /could not transfer funds, not enough funds to transfer/),
    },
    "transfer of an unknown asset": {
      by: "alice",
      command: () => transfer({ asset: UNKNOWN }),
      expected: refused(70, /could not transfer funds, asset does not exist/),
    },
    "transfer without account": {
      by: "poor",
      command: () => transfer({}),
      expected: refused(70, /could not transfer funds, account does not exist/),
    },
    "recurring transfer": { by: "carol", command: recurring, expected: EXECUTED, keep: keepId("transfer") },
    "recurring transfer, twice": {
      by: "carol",
      command: recurring,
      expected: failed(/cannot submit duplicate recurring transfer/),
    },
    "cancellation of a transfer": {
      by: "carol",
      command: ({ kept }) => ({ case: "cancelTransfer", value: { transferId: kept.transfer } }),
      expected: EXECUTED,
    },
    "cancellation of a cancelled transfer": {
      by: "carol",
      command: ({ kept }) => ({ case: "cancelTransfer", value: { transferId: kept.transfer } }),
      expected: failed(/recurring transfer does not exists/),
    },
  };
}

const LATER = { closing: 3600, enactment: 3700 };
/** A change of a network parameter, by default one that changes nothing. */
const parameter = (key = "spam.protection.max.votes", value = "300") => ({
  case: "updateNetworkParameter",
  value: { changes: { key, value } },
});

const governance = {
  "proposal of a network parameter": {
    by: "alice",
    command: () => proposal("parameter", parameter(), LATER),
    expected: EXECUTED,
    keep: keepId("proposal"),
  },
  "proposal of an unknown network parameter": {
    by: "alice",
    command: () => proposal("parameter", parameter("no.such.parameter", "1"), LATER),
    expected: refused(70, /unknown key/),
  },
  "free-form proposal": {
    by: "alice",
    command: () => {
      const { case: kind, value } = proposal("free form", { case: "newFreeform", value: {} }, LATER);
      const { enactmentTimestamp: _, ...terms } = value.terms;
      return { case: kind, value: { ...value, terms } };
    },
    expected: EXECUTED,
  },
  "proposal without stake": {
    by: "poor",
    command: () => proposal("parameter", parameter(), LATER),
    expected: refused(89, /insufficient associated governance tokens/),
  },
  "batch of proposals": {
    by: "alice",
    command: ({ kept }) => {
      // A batch that changes a parameter which cannot be changed ends the core (core/processor/abci.go, CheckBatchPropose).
      if (kept.proposal === undefined) {
        throw new LeftOut("the same proposal alone was not accepted");
      }
      const { reference, rationale, terms } = proposal("batch", undefined, LATER).value;
      const changes = ["300", "301"].map((value) => ({
        enactmentTimestamp: terms.enactmentTimestamp,
        change: parameter(undefined, value),
      }));
      const value = { reference, rationale, terms: { closingTimestamp: terms.closingTimestamp, changes } };
      return { case: "batchProposalSubmission", value };
    },
    expected: EXECUTED,
  },
  vote: {
    by: "bob",
    command: ({ kept }) => ({ case: "voteSubmission", value: { proposalId: kept.proposal, value: 1 } }),
    expected: EXECUTED,
  },
  "vote on an unknown proposal": {
    by: "bob",
    command: () => ({ case: "voteSubmission", value: { proposalId: UNKNOWN, value: 1 } }),
    expected: failed(/proposal does not exist/),
  },
  "vote without stake": {
    by: "poor",
    command: ({ kept }) => ({ case: "voteSubmission", value: { proposalId: kept.proposal, value: 1 } }),
    expected: refused(89, /insufficient associated governance tokens/),
  },
};

/** A market maker needs a contract at each price between its bounds, so they are close. */
const bounds = {
  base: String(PRICE),
  lowerBound: String(PRICE - 500n),
  upperBound: String(PRICE + 500n),
  leverageAtLowerBound: "10",
  leverageAtUpperBound: "10",
};

const liquidity = {
  "liquidity provision": {
    by: "carol",
    command: ({ id }) => ({
      case: "liquidityProvisionSubmission",
      value: { marketId: id, commitmentAmount: "1000000000", fee: "0.01", reference: "test" },
    }),
    expected: EXECUTED,
  },
  "liquidity provision, twice": {
    by: "carol",
    command: ({ id }) => ({
      case: "liquidityProvisionSubmission",
      value: { marketId: id, commitmentAmount: "1000000000", fee: "0.01", reference: "test" },
    }),
    expected: failed(/liquidity provision already exists/),
  },
  "amendment of a liquidity provision": {
    by: "carol",
    command: ({ id }) => ({
      case: "liquidityProvisionAmendment",
      value: { marketId: id, commitmentAmount: "2000000000", fee: "0.01" },
    }),
    expected: EXECUTED,
  },
  "cancellation of a liquidity provision that does not exist": {
    by: "bob",
    command: ({ id }) => ({ case: "liquidityProvisionCancellation", value: { marketId: id } }),
    expected: failed(/party has no existing liquidity provision/),
  },
  "cancellation of a liquidity provision": {
    by: "carol",
    command: ({ id }) => ({ case: "liquidityProvisionCancellation", value: { marketId: id } }),
    expected: EXECUTED,
  },
  "market maker": {
    by: "dave",
    command: ({ id }) => ({
      case: "submitAmm",
      value: {
        marketId: id,
        commitmentAmount: String(10n ** 13n),
        slippageTolerance: "0.5",
        proposedFee: "0.01",
        concentratedLiquidityParameters: bounds,
      },
    }),
    expected: EXECUTED,
  },
  "market maker with too little": {
    by: "erin",
    command: ({ id }) => ({
      case: "submitAmm",
      value: {
        marketId: id,
        commitmentAmount: "100",
        slippageTolerance: "0.5",
        proposedFee: "0.01",
        concentratedLiquidityParameters: bounds,
      },
    }),
    expected: failed(/insufficient commitment/),
  },
  "amendment of a market maker": {
    by: "dave",
    command: ({ id }) => ({
      case: "amendAmm",
      value: {
        marketId: id,
        slippageTolerance: "0.5",
        proposedFee: "0.02",
        concentratedLiquidityParameters: bounds,
      },
    }),
    expected: EXECUTED,
  },
  "end of a market maker": {
    by: "dave",
    command: ({ id }) => ({ case: "cancelAmm", value: { marketId: id, method: 1 } }),
    expected: EXECUTED,
  },
  "end of a market maker without account": {
    by: "poor",
    command: ({ id }) => ({ case: "cancelAmm", value: { marketId: id, method: 1 } }),
    expected: refused(70, /is not eligible to submit order transactions/),
  },
};

const marginMode = {
  "isolated margin": {
    by: "bob",
    command: ({ id }) => ({ case: "updateMarginMode", value: { marketId: id, mode: 2, marginFactor: "0.9" } }),
    expected: EXECUTED,
  },
  "isolated margin with a factor that is too low": {
    by: "bob",
    command: ({ id }) => ({ case: "updateMarginMode", value: { marketId: id, mode: 2, marginFactor: "0.0001" } }),
    expected: failed(/margin factor \(0.0001\) must be greater than max/),
  },
  "cross margin": {
    by: "bob",
    command: ({ id }) => ({ case: "updateMarginMode", value: { marketId: id, mode: 1 } }),
    expected: EXECUTED,
  },
};

function stake({ network }) {
  const node = async () => {
    const { nodes } = await network.services.data.listNodes({});
    return nodes?.edges[0]?.node?.id;
  };
  return {
    delegation: {
      by: "alice",
      command: async () => ({ case: "delegateSubmission", value: { nodeId: await node(), amount: "200000" } }),
      expected: EXECUTED,
    },
    "delegation to an unknown node": {
      by: "alice",
      command: () => ({ case: "delegateSubmission", value: { nodeId: UNKNOWN, amount: "200000" } }),
      expected: failed(/invalid node ID/),
    },
    "delegation without stake": {
      by: "poor",
      command: () => ({ case: "delegateSubmission", value: { nodeId: UNKNOWN, amount: "200000" } }),
      expected: refused(89, /insufficient associated governance tokens/),
    },
    undelegation: {
      by: "alice",
      command: async () => ({
        case: "undelegateSubmission",
        value: { nodeId: await node(), amount: "100000", method: 1 },
      }),
      expected: EXECUTED,
    },
  };
}

const referrals = {
  "referral set with a team": {
    by: "frank",
    command: () => ({
      case: "createReferralSet",
      value: { isTeam: true, team: { name: `team ${Date.now()}`, closed: false } },
    }),
    expected: EXECUTED,
    keep: keepId("team"),
  },
  "referral set, twice": {
    by: "frank",
    command: () => ({ case: "createReferralSet", value: { isTeam: false } }),
    expected: failed(/is already a referrer/),
  },
  "change of a team": {
    by: "frank",
    command: ({ kept }) => ({
      case: "updateReferralSet",
      value: { id: kept.team, isTeam: true, team: { name: `renamed ${Date.now()}` } },
    }),
    expected: EXECUTED,
  },
  "change of another party's team": {
    by: "erin",
    command: ({ kept }) => ({
      case: "updateReferralSet",
      value: { id: kept.team, isTeam: true, team: { name: "stolen" } },
    }),
    expected: failed(/only the referrer can update the team properties/),
  },
  "referral code": {
    by: "erin",
    command: ({ kept }) => ({ case: "applyReferralCode", value: { id: kept.team, doNotJoinTeam: true } }),
    expected: EXECUTED,
  },
  "unknown referral code": {
    by: "grace",
    command: () => ({ case: "applyReferralCode", value: { id: UNKNOWN } }),
    expected: failed(/no referral set for referral code/),
  },
  "joining a team": {
    by: "grace",
    command: ({ kept }) => ({ case: "joinTeam", value: { id: kept.team } }),
    expected: EXECUTED,
  },
  "joining an unknown team": {
    by: "grace",
    command: () => ({ case: "joinTeam", value: { id: UNKNOWN } }),
    expected: failed(/no team matches ID/),
  },
};

const accounts = {
  profile: {
    by: "grace",
    command: () => ({
      case: "updatePartyProfile",
      value: { alias: `grace ${Date.now()}`, metadata: [{ key: "k", value: "v" }] },
    }),
    expected: EXECUTED,
  },
  withdrawal: {
    by: "grace",
    command: () => withdrawal("1000000"),
    expected: EXECUTED,
  },
  "withdrawal beyond the balance": {
    by: "grace",
    command: () => withdrawal(String(10n ** 24n)),
    expected: failed(/not enough funds to withdraw/),
  },
  "oracle data that a market waits for": {
    by: "alice",
    command: () => oracleData({ "price.BTC.value": "1" }),
    expected: EXECUTED,
  },
  "oracle data that nobody waits for": {
    by: "alice",
    command: () => oracleData({ "no.such.name": "1" }),
    expected: refused(70, /there are no subscribes to the oracle data/),
  },
};

function withdrawal(amount) {
  const ext = { ext: { case: "erc20", value: { receiverAddress: ETHEREUM } } };
  return { case: "withdrawSubmission", value: { amount, asset: TDAI, ext } };
}

function oracleData(values) {
  return {
    case: "oracleDataSubmission",
    value: { source: 2, payload: new TextEncoder().encode(JSON.stringify(values)) },
  };
}

/** Commands of validators, and those that the network itself makes, sent by somebody else. */
const validators = {
  "announcement of a node without stake": {
    by: "poor",
    command: () => ({
      case: "announceNode",
      value: {
        vegaPubKey: UNKNOWN,
        id: UNKNOWN,
        ethereumAddress: ETHEREUM,
        chainPubKey: "aa",
        vegaPubKeyIndex: 1,
        fromEpoch: 1n,
        submitterAddress: ETHEREUM,
        name: "node",
        ethereumSignature: SIGNATURE,
        vegaSignature: SIGNATURE,
      },
    }),
    expected: refused(89, /insufficient associated governance tokens/),
  },
  "vote of a validator": {
    by: "alice",
    command: () => ({ case: "nodeVote", value: { reference: "x", type: 1 } }),
    expected: NOT_A_VALIDATOR,
  },
  "signature of a validator": {
    by: "alice",
    command: () => ({ case: "nodeSignature", value: { id: UNKNOWN, sig: new Uint8Array([1]), kind: 1 } }),
    expected: NOT_A_VALIDATOR,
  },
  "event of another chain": {
    by: "alice",
    command: ({ alice }) => {
      const deposit = { vegaAssetId: VOTE, partyId: alice.publicKey, amount: "1" };
      const event = { case: "builtin", value: { action: { case: "deposit", value: deposit } } };
      return { case: "chainEvent", value: { txId: "x", nonce: 1n, event } };
    },
    expected: NOT_A_VALIDATOR,
  },
  "change of a validator's key": {
    by: "alice",
    command: () => ({
      case: "keyRotateSubmission",
      value: { newPubKeyIndex: 1, targetBlock: 10_000_000n, newPubKey: UNKNOWN, currentPubKeyHash: UNKNOWN },
    }),
    expected: NOT_A_VALIDATOR,
  },
  "state variable": {
    by: "alice",
    command: () => ({
      case: "stateVariableProposal",
      value: {
        proposal: {
          stateVarId: UNKNOWN,
          eventId: "x",
          kvb: [{ key: "k", tolerance: "1", value: { value: { case: "scalarVal", value: { value: "1" } } } }],
        },
      },
    }),
    expected: NOT_A_VALIDATOR,
  },
  heartbeat: {
    by: "alice",
    command: () => ({
      case: "validatorHeartbeat",
      value: { nodeId: UNKNOWN, ethereumSignature: SIGNATURE, vegaSignature: SIGNATURE, message: "x" },
    }),
    expected: NOT_A_VALIDATOR,
  },
  "change of a validator's Ethereum key": {
    by: "alice",
    command: () => ({
      case: "ethereumKeyRotateSubmission",
      value: {
        targetBlock: 10_000_000n,
        newAddress: ETHEREUM,
        currentAddress: ETHEREUM,
        submitterAddress: ETHEREUM,
        ethereumSignature: SIGNATURE,
      },
    }),
    expected: NOT_A_VALIDATOR,
  },
  "proposal of a version": {
    by: "alice",
    command: () => ({
      case: "protocolUpgradeProposal",
      value: { upgradeBlockHeight: 10_000_000n, vegaReleaseTag: "v0.79.0" },
    }),
    expected: NOT_A_VALIDATOR,
  },
  "request for signatures": {
    by: "poor",
    command: () => ({
      case: "issueSignatures",
      value: { submitter: ETHEREUM, kind: 3, validatorNodeId: UNKNOWN, chainId: "3" },
    }),
    expected: refused(89, /insufficient associated governance tokens/),
  },
  "delayed transactions": {
    by: "alice",
    command: () => ({ case: "delayedTransactionsWrapper", value: { transactions: [], height: 1n } }),
    expected: { status: "unknown" },
  },
};

/** A command as JSON, for the recording. */
function json(command) {
  const message = fromBinary(InputDataSchema, toBinary(InputDataSchema, create(InputDataSchema, { command })));
  return toJson(InputDataSchema, message)[command.case];
}

/** The network's result without the command, which is recorded already. */
function shortResult({ event }) {
  const { transaction: _, ...rest } = event.value;
  return { ...toJson(TransactionResultSchema, { ...rest, transaction: { case: undefined } }) };
}
