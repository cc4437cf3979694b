import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { AssetSchema } from "tradewire/gen/vega/assets_pb.js";
import {
  AmendAMMSchema,
  ApplyReferralCodeSchema,
  CancelAMM_Method,
  CancelAMMSchema,
  CreateReferralSetSchema,
  DelegateSubmissionSchema,
  JoinTeamSchema,
  LiquidityProvisionAmendmentSchema,
  LiquidityProvisionCancellationSchema,
  LiquidityProvisionSubmissionSchema,
  SubmitAMMSchema,
  UndelegateSubmission_Method,
  UndelegateSubmissionSchema,
  UpdateMarginMode_Mode,
  UpdateMarginModeSchema,
  UpdatePartyProfileSchema,
  UpdateReferralSetSchema,
  WithdrawSubmissionSchema,
} from "tradewire/gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { MarginMode, Withdrawal_Status } from "tradewire/gen/vega/vega_pb.js";
import {
  ann,
  asset,
  bob,
  cat,
  dan,
  type Exchange,
  failure,
  marketId,
  marketOf,
  openExchange,
  START,
  valuesOf,
} from "./exchange.js";
import type { Event } from "./inside.js";

const SUCCESS = { status: "success" };
const node = "0d".repeat(32);
const unknown = "0e".repeat(32);
/** How many blocks an epoch of the local node has. */
const EPOCH = 600n;

function open(isBuiltin = true) {
  const source = isBuiltin
    ? { case: "builtinAsset" as const, value: { maxFaucetAmountMint: "1" } }
    : { case: "erc20" as const, value: { contractAddress: "0x" } };
  const exchange = openExchange(marketOf(), {
    startingBalance: "1000000",
    assets: [create(AssetSchema, { id: asset, details: { decimals: 0n, quantum: "1", source } })],
    parameters: new Map([
      ["market.liquidityProvision.minLpStakeQuantumMultiple", "5000"],
      ["market.liquidity.maximumLiquidityFeeFactorLevel", "0.03"],
    ]),
    stakes: new Map([[ann, 1000n]]),
    validators: [node],
  });
  return exchange;
}

/** The kinds of events, but for those of new parties and of general accounts that are opened. */
const lines = (events: readonly Event[]): string =>
  events
    .filter((event) => event.case !== "party")
    .map((event) =>
      event.case === "ledgerMovements" ? `ledger(${event.value.ledgerMovements[0]?.entries[0]?.type})` : event.case,
    )
    .join(" ");

/** Open a party's general account, as a first command does. */
function fund(exchange: Exchange, party: string): void {
  exchange.order(party, { marketId, side: 1, size: 1n, price: "1", type: 1, timeInForce: 1 });
}

// The sequences and texts below are those that the real network recorded, unless a comment says otherwise.

describe("withdrawals", () => {
  const withdraw = (amount: string): InputData["command"] => ({
    case: "withdrawSubmission",
    value: create(WithdrawSubmissionSchema, { amount, asset }),
  });

  test("of a built-in asset are finalized at once, if there is enough", () => {
    const exchange = open();
    fund(exchange, ann);
    const { outcome, events, ids } = exchange.send(ann, withdraw("1000"));
    expect(outcome).toEqual(SUCCESS);
    expect(lines(events)).toBe("account ledger(18) withdrawal");
    expect(valuesOf(events, "withdrawal")).toMatchObject([
      { id: ids[0], amount: "1000", status: Withdrawal_Status.FINALIZED, createdTimestamp: START, ref: "1700000000" },
    ]);
    const refused = exchange.send(ann, withdraw("999999999"));
    expect(refused.outcome).toEqual(failure("not enough funds to withdraw"));
    expect(valuesOf(refused.events, "withdrawal")).toMatchObject([
      { status: Withdrawal_Status.REJECTED, ref: "1700000001" },
    ]);
  });

  test("of an asset on Ethereum stay open", () => {
    const { events } = open(false).send(ann, withdraw("1000"));
    expect(valuesOf(events, "withdrawal")).toMatchObject([{ status: Withdrawal_Status.OPEN }]);
  });
});

test("profiles change, and no two have one alias", () => {
  const exchange = open();
  const update = (party: string, alias: string) =>
    exchange.send(party, { case: "updatePartyProfile", value: create(UpdatePartyProfileSchema, { alias }) });
  expect(lines(update(ann, "trader").events)).toBe("partyProfileUpdated");
  expect(update(bob, "trader").outcome).toEqual(
    failure('couldn\'t update profile: invalid profile update: alias "trader" is already taken'),
  );
  expect(update(ann, "trader").outcome).toEqual(SUCCESS);
  update(ann, "other");
  expect(update(bob, "trader").outcome).toEqual(SUCCESS);
});

describe("delegation", () => {
  const delegate = (exchange: Exchange, amount: string, nodeId = node, party = ann) =>
    exchange.send(party, { case: "delegateSubmission", value: create(DelegateSubmissionSchema, { nodeId, amount }) });
  const undelegate = (exchange: Exchange, amount: string, method: UndelegateSubmission_Method, nodeId = node) =>
    exchange.send(ann, {
      case: "undelegateSubmission",
      value: create(UndelegateSubmissionSchema, { nodeId, amount, method }),
    });
  const amounts = (events: readonly Event[]) =>
    valuesOf(events, "delegationBalance").map(({ amount, epochSeq }) => `${amount} in ${epochSeq}`);

  test("counts from the next epoch on, and ends at once or with the epoch", () => {
    const exchange = open();
    expect(amounts(delegate(exchange, "1000").events)).toEqual(["1000 in 1"]);
    expect(amounts(exchange.nextBlock(EPOCH - exchange.height()).begin)).toEqual(["1000 in 1"]);
    expect(amounts(undelegate(exchange, "400", UndelegateSubmission_Method.NOW).events)).toEqual([
      "600 in 1",
      "600 in 2",
    ]);
    expect(amounts(undelegate(exchange, "0", UndelegateSubmission_Method.AT_END_OF_EPOCH).events)).toEqual(["0 in 2"]);
    expect(amounts(exchange.nextBlock(EPOCH).begin)).toEqual([]);
  });

  test("is refused in the network's words", () => {
    const exchange = open();
    expect(delegate(exchange, "1001").outcome).toEqual(failure("insufficient balance for delegation"));
    expect(delegate(exchange, "1", unknown).outcome).toEqual(failure("invalid node ID"));
    // core/delegation/engine.go
    expect(delegate(exchange, "1", node, bob).outcome).toEqual(failure("cannot find staking account for the party"));
    const { NOW } = UndelegateSubmission_Method;
    expect(undelegate(exchange, "1", NOW).outcome).toEqual(failure("incorrect token amount for undelegation"));
    expect(undelegate(exchange, "1", NOW, unknown).outcome).toEqual(failure("invalid node ID"));
  });
});

describe("referral sets and teams", () => {
  const make = (exchange: Exchange, party: string, name?: string, more = {}) =>
    exchange.send(party, {
      case: "createReferralSet",
      value: create(CreateReferralSetSchema, {
        isTeam: name !== undefined,
        ...(name !== undefined && { team: { name, ...more } }),
      }),
    });
  const update = (exchange: Exchange, party: string, id: string | undefined, team = {}) =>
    exchange.send(party, {
      case: "updateReferralSet",
      value: create(UpdateReferralSetSchema, { id: id ?? "", isTeam: true, team }),
    });
  const apply = (exchange: Exchange, party: string, id: string | undefined) =>
    exchange.send(party, { case: "applyReferralCode", value: create(ApplyReferralCodeSchema, { id: id ?? "" }) });
  const join = (exchange: Exchange, party: string, id: string | undefined) =>
    exchange.send(party, { case: "joinTeam", value: create(JoinTeamSchema, { id: id ?? "" }) });

  test("are made, changed and joined", () => {
    const exchange = open();
    const { events, ids } = make(exchange, ann, "team", { teamUrl: "u", avatarUrl: "v" });
    expect(lines(events)).toBe("referralSetCreated teamCreated");
    expect(valuesOf(events, "teamCreated")).toMatchObject([
      { teamId: ids[0], referrer: ann, name: "team", teamUrl: "u" },
    ]);
    expect(make(exchange, ann).outcome).toEqual(failure(`party "${ann}" is already a referrer`));
    const changed = update(exchange, ann, ids[0], { name: "new" });
    expect(valuesOf(changed.events, "teamUpdated")).toMatchObject([{ name: "new", teamUrl: "u", avatarUrl: "v" }]);
    expect(update(exchange, bob, ids[0], { name: "b" }).outcome).toEqual(
      failure("only the referrer can update the team properties"),
    );
    expect(lines(apply(exchange, bob, ids[0]).events)).toBe("refereeJoinedReferralSet refereeJoinedTeam");
    expect(lines(join(exchange, cat, ids[0]).events)).toBe("refereeJoinedTeam");
    expect(join(exchange, ann, ids[0]).outcome).toEqual(
      failure("couldn't join team: a referrer cannot join another team"),
    );
    expect(join(exchange, bob, unknown).outcome).toEqual(
      failure(`couldn't join team: no team matches ID "${unknown}"`),
    );
  });

  test("refuse codes in the network's words", () => {
    const exchange = open();
    const { ids } = make(exchange, ann, "team");
    const text = (problem: string) => failure(`could not apply the referral code: ${problem}`);
    expect(apply(exchange, ann, ids[0]).outcome).toEqual(text(`party "${ann}" is already a referrer`));
    apply(exchange, bob, ids[0]);
    expect(apply(exchange, bob, ids[0]).outcome).toEqual(text(`party "${bob}" has already been referred`));
    expect(apply(exchange, cat, unknown).outcome).toEqual(text(`no referral set for referral code "${unknown}"`));
  });

  test("who changes a team that is not there makes it", () => {
    const { outcome, events } = update(open(), bob, unknown, { name: "made" });
    expect(outcome).toEqual(SUCCESS);
    expect(valuesOf(events, "teamCreated")).toMatchObject([{ teamId: unknown, referrer: bob, name: "made" }]);
  });

  test("a member goes to another team with the next epoch, if it is let in", () => {
    const exchange = open();
    const first = make(exchange, ann, "first").ids[0];
    const closed = make(exchange, bob, "closed", { closed: true, allowList: [cat] }).ids[0];
    join(exchange, cat, first);
    expect(join(exchange, cat, closed).events).toEqual([]);
    expect(join(exchange, dan, closed).outcome.status).toBe("failure");
    const { begin } = exchange.nextBlock(EPOCH - exchange.height());
    expect(valuesOf(begin, "refereeSwitchedTeam")).toMatchObject([
      { fromTeamId: first, toTeamId: closed, referee: cat, atEpoch: 1n },
    ]);
  });
});

test("margin modes are kept", () => {
  const exchange = open();
  const update = (mode: UpdateMarginMode_Mode, id = marketId) =>
    exchange.send(ann, {
      case: "updateMarginMode",
      value: create(UpdateMarginModeSchema, { marketId: id, mode, marginFactor: "0.9" }),
    });
  const { ISOLATED_MARGIN, CROSS_MARGIN } = UpdateMarginMode_Mode;
  expect(valuesOf(update(ISOLATED_MARGIN).events, "partyMarginModeUpdated")).toMatchObject([
    { marketId, partyId: ann, marginMode: MarginMode.ISOLATED_MARGIN, marginFactor: "0.9" },
  ]);
  const [cross] = valuesOf(update(CROSS_MARGIN).events, "partyMarginModeUpdated");
  expect(cross).toMatchObject({ marginMode: MarginMode.CROSS_MARGIN });
  expect(cross?.marginFactor).toBeUndefined();
  expect(update(CROSS_MARGIN, unknown).outcome).toEqual(failure("OrderError: Invalid Market ID"));
});

describe("commitments of liquidity", () => {
  const submit = (exchange: Exchange, party: string, commitmentAmount: string, fee = "0.001") =>
    exchange.send(party, {
      case: "liquidityProvisionSubmission",
      value: create(LiquidityProvisionSubmissionSchema, { marketId, commitmentAmount, fee, reference: "lp" }),
    });
  const amend = (exchange: Exchange, party: string, commitmentAmount: string) =>
    exchange.send(party, {
      case: "liquidityProvisionAmendment",
      value: create(LiquidityProvisionAmendmentSchema, { marketId, commitmentAmount, fee: "0.002" }),
    });
  const cancel = (exchange: Exchange, party: string) =>
    exchange.send(party, {
      case: "liquidityProvisionCancellation",
      value: create(LiquidityProvisionCancellationSchema, { marketId }),
    });

  test("move their bonds", () => {
    const exchange = open();
    fund(exchange, ann);
    const { events, ids } = submit(exchange, ann, "100000");
    expect(lines(events)).toBe("liquidityProvision account account account account ledger(15)");
    expect(lines(amend(exchange, ann, "200000").events)).toBe("account account ledger(15) liquidityProvision");
    expect(lines(amend(exchange, ann, "150000").events)).toBe("account account ledger(16) liquidityProvision");
    const ended = cancel(exchange, ann);
    expect(lines(ended.events)).toBe("account account ledger(16) liquidityProvision");
    expect(valuesOf(ended.events, "liquidityProvision")).toMatchObject([
      { id: ids[0], commitmentAmount: "0", fee: "0", version: 4n, status: 6, reference: "lp" },
    ]);
    expect(valuesOf(ended.events, "account").at(-1)?.balance).toBe("1000000");
  });

  test("are refused in the network's words", () => {
    const exchange = open();
    fund(exchange, ann);
    submit(exchange, ann, "100000");
    expect(submit(exchange, ann, "100000").outcome).toEqual(failure("liquidity provision already exists"));
    expect(amend(exchange, bob, "100000").outcome).toEqual(failure("party is not a liquidity provider"));
    expect(submit(exchange, bob, "1").outcome).toEqual(failure("commitment amount is too low"));
    expect(cancel(exchange, bob).outcome).toEqual(failure("party has no existing liquidity provision"));
    fund(exchange, bob);
    const much = submit(exchange, bob, "10000000");
    expect(much.outcome).toEqual(failure("not enough collateral in general account"));
    expect(lines(much.events)).toBe("liquidityProvision account account liquidityProvision");
    expect(valuesOf(much.events, "liquidityProvision").map(({ status }) => status)).toEqual([6, 4]);
    const dear = submit(exchange, bob, "100000", "0.9");
    expect(dear.outcome).toEqual(failure("invalid liquidity provision fee"));
    expect(valuesOf(dear.events, "liquidityProvision")).toMatchObject([{ status: 4, version: 0n }]);
  });
});

describe("automated market makers", () => {
  const concentratedLiquidityParameters = { base: "100", upperBound: "110", lowerBound: "90" };
  const submit = (exchange: Exchange, party: string, commitmentAmount = "1000") =>
    exchange.send(party, {
      case: "submitAmm",
      value: create(SubmitAMMSchema, {
        marketId,
        commitmentAmount,
        proposedFee: "0.01",
        concentratedLiquidityParameters,
      }),
    });
  const cancel = (exchange: Exchange, method: CancelAMM_Method) =>
    exchange.send(ann, { case: "cancelAmm", value: create(CancelAMMSchema, { marketId, method }) });

  test("are kept as states, with their commitment", () => {
    const exchange = open();
    fund(exchange, ann);
    const { outcome, events, ids } = submit(exchange, ann);
    expect(outcome).toEqual(SUCCESS);
    expect(lines(events)).toBe("account account account account account ledger(49) amm");
    expect(valuesOf(events, "amm")).toMatchObject([
      { id: ids[0], partyId: ann, marketId, commitment: "1000", status: 1, parameters: { base: "100" } },
    ]);
    // core/execution/amm/engine.go, ErrPartyAlreadyOwnAPool.
    expect(submit(exchange, ann).outcome).toEqual(failure(`party already own a pool for market ${marketId}`));
    const amended = exchange.send(ann, {
      case: "amendAmm",
      value: create(AmendAMMSchema, { marketId, commitmentAmount: "1500", concentratedLiquidityParameters }),
    });
    expect(lines(amended.events)).toBe("amm account account ledger(49) amm");
    expect(valuesOf(cancel(exchange, CancelAMM_Method.REDUCE_ONLY).events, "amm")).toMatchObject([{ status: 5 }]);
    const ended = cancel(exchange, CancelAMM_Method.IMMEDIATE);
    expect(valuesOf(ended.events, "amm")).toMatchObject([{ status: 3, commitment: "1500" }]);
    expect(valuesOf(ended.events, "account").at(-1)).toMatchObject({ owner: ann, balance: "1000000" });
    expect(cancel(exchange, CancelAMM_Method.IMMEDIATE).outcome).toEqual(failure("no pool matching party"));
  });

  test("belong to the party that the network derives", () => {
    // LatestEvent of the real network for this party and market; the hash is that of core/execution/amm/engine.go, DeriveAMMParty.
    const market = "4e93853e24b2e35dde531a5124c7363a94623ef2d295169f42fbe201ae69ca37";
    const party = "466627d52773c9d5cda6c8fd28ea31ec7b94e68aa8d42e2ad31a75dc8d24ed07";
    const exchange = openExchange(marketOf({ id: market }));
    const { events } = exchange.send(party, {
      case: "submitAmm",
      value: create(SubmitAMMSchema, { marketId: market, commitmentAmount: "10", concentratedLiquidityParameters }),
    });
    expect(valuesOf(events, "amm")[0]?.ammPartyId).toBe(
      "900b366dbdf581efce71d2429bd1ec599fbef5b65a9af28627d2c10ec35f8b4f",
    );
  });
});
