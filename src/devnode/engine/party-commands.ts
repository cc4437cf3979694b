import { create } from "@bufbuild/protobuf";
import {
  type ApplyReferralCode,
  type CreateReferralSet,
  type DelegateSubmission,
  type JoinTeam,
  type UndelegateSubmission,
  UndelegateSubmission_Method,
  type UpdatePartyProfile,
  type UpdateReferralSet,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import {
  DelegationBalanceEventSchema,
  PartyProfileUpdatedSchema,
  RefereeJoinedReferralSetSchema,
  RefereeJoinedTeamSchema,
  RefereeSwitchedTeamSchema,
  ReferralSetCreatedSchema,
  TeamCreatedSchema,
  TeamUpdatedSchema,
} from "../../../gen/vega/events/v1/events_pb.js";
import { PartyProfileSchema } from "../../../gen/vega/vega_pb.js";
import { epochOf } from "../data/epochs.js";
import { min } from "./decimal.js";
import type { ExecutionContext, Team } from "./engine-state.js";

/**
 * Updates a party's profile (`core/parties/engine.go`). Aliases are unique.
 *
 * @param context the block
 * @param partyId the party
 * @param command the new alias and metadata
 * @returns the error if the profile is not updated
 */
export function updateProfile(
  context: ExecutionContext,
  partyId: string,
  { alias, metadata }: UpdatePartyProfile,
): string | undefined {
  const { profiles } = context.state;
  const reason =
    alias === "network"
      ? "this alias is reserved"
      : alias !== "" && [...profiles.values()].some((other) => other.partyId !== partyId && other.alias === alias)
        ? `alias "${alias}" is already taken`
        : undefined;
  if (reason !== undefined) {
    return `couldn't update profile: invalid profile update: ${reason}`;
  }
  const updatedProfile = create(PartyProfileSchema, { partyId, alias, metadata });
  profiles.set(partyId, updatedProfile);
  context.emit({ case: "partyProfileUpdated", value: create(PartyProfileUpdatedSchema, { updatedProfile }) });
  return undefined;
}

/**
 * Delegates tokens to a node from the next epoch on (`core/delegation/engine.go`, Delegate).
 *
 * @param context the block
 * @param partyId the sender
 * @param command the node and amount
 * @returns the error if nothing is delegated
 */
export function delegate(
  context: ExecutionContext,
  partyId: string,
  { nodeId, amount }: DelegateSubmission,
): string | undefined {
  const { stakes, nextDelegations, parameters } = context.state;
  const node = nodeId.toLowerCase();
  if (!context.state.validators.has(node)) {
    return "invalid node ID";
  }
  const stake = stakes.get(partyId);
  if (stake === undefined) {
    return "cannot find staking account for the party";
  }
  if (BigInt(amount) < BigInt(parameters.get("validators.delegation.minAmount") ?? "0")) {
    return "delegation amount is lower than the minimum amount for delegation for a validator";
  }
  const own = [...nextDelegations].filter(([key]) => key.startsWith(`${partyId} `));
  if (own.reduce((sum, [, delegated]) => sum + delegated, BigInt(amount)) > stake) {
    return "insufficient balance for delegation";
  }
  adjustDelegation(context, nextDelegations, `${partyId} ${node}`, BigInt(amount), epochOf(context.block.height) + 1n);
  return undefined;
}

/**
 * Undelegates tokens immediately, or at the end of the epoch. An amount of 0 means all of them.
 *
 * @param context the block
 * @param partyId the sender
 * @param command the node, amount and method
 * @returns the error if nothing is undelegated
 */
export function undelegate(
  context: ExecutionContext,
  partyId: string,
  command: UndelegateSubmission,
): string | undefined {
  const { delegations, nextDelegations } = context.state;
  const node = command.nodeId.toLowerCase();
  if (!context.state.validators.has(node)) {
    return "invalid node ID";
  }
  const key = `${partyId} ${node}`;
  const isNow = command.method === UndelegateSubmission_Method.NOW;
  const current = isNow ? (delegations.get(key) ?? 0n) : 0n;
  const next = nextDelegations.get(key) ?? 0n;
  const available = current > next ? current : next;
  const amount = command.amount === "" || BigInt(command.amount) === 0n ? available : BigInt(command.amount);
  if (amount > available) {
    return "incorrect token amount for undelegation";
  }
  const epoch = epochOf(context.block.height);
  if (current > 0n) {
    adjustDelegation(context, delegations, key, -min(current, amount), epoch);
  }
  if (next > 0n) {
    adjustDelegation(context, nextDelegations, key, -min(next, amount), epoch + 1n);
  }
  return undefined;
}

/** Activates the delegations for a new epoch. */
export function activateDelegations(context: ExecutionContext): void {
  const { delegations, nextDelegations } = context.state;
  delegations.clear();
  for (const [key, amount] of nextDelegations) {
    delegations.set(key, amount);
    emitDelegationBalance(context, key, amount, epochOf(context.block.height));
  }
}

function adjustDelegation(
  context: ExecutionContext,
  all: Map<string, bigint>,
  key: string,
  by: bigint,
  epoch: bigint,
): void {
  const amount = (all.get(key) ?? 0n) + by;
  if (amount === 0n) {
    all.delete(key);
  } else {
    all.set(key, amount);
  }
  emitDelegationBalance(context, key, amount, epoch);
}

function emitDelegationBalance({ emit }: ExecutionContext, key: string, amount: bigint, epoch: bigint): void {
  const [party = "", nodeId = ""] = key.split(" ");
  const about = { party, nodeId, amount: String(amount), epochSeq: String(epoch) };
  emit({ case: "delegationBalance", value: create(DelegationBalanceEventSchema, about) });
}

/**
 * Creates a referral set, a team, or both (`core/processor/abci.go`, CreateReferralSet).
 *
 * @param context the block
 * @param partyId the referrer
 * @param command the set and the team
 * @param id the identifier of both
 * @returns the error if the set or its team is not created
 */
export function createReferralSet(
  context: ExecutionContext,
  partyId: string,
  { isTeam, team, doNotCreateReferralSet }: CreateReferralSet,
  id: string,
): string | undefined {
  const { referralSets, referees } = context.state;
  if (!doNotCreateReferralSet) {
    if ([...referralSets.values()].includes(partyId)) {
      return `party "${partyId}" is already a referrer`;
    }
    if (referees.has(partyId)) {
      return `party "${partyId}" has already been referred`;
    }
    referralSets.set(id, partyId);
    const times = { createdAt: context.block.time, updatedAt: context.block.time };
    const value = create(ReferralSetCreatedSchema, { setId: id, referrer: partyId, ...times });
    context.emit({ case: "referralSetCreated", value });
  }
  const { name = "", teamUrl = "", avatarUrl = "", closed = false, allowList = [] } = team ?? {};
  return isTeam
    ? createTeam(context, { id, referrer: partyId, name, teamUrl, avatarUrl, closed, allowList })
    : undefined;
}

/**
 * Updates a team, or creates it if it does not exist: the network does not check the owner of the referral set
 * (`core/processor/abci.go`, UpdateReferralSet).
 *
 * @param context the block
 * @param partyId the sender
 * @param command the changes
 * @returns the error if nothing is updated
 */
export function updateReferralSet(
  context: ExecutionContext,
  partyId: string,
  command: UpdateReferralSet,
): string | undefined {
  const { teams } = context.state;
  const id = command.id.toLowerCase();
  const { name, teamUrl, avatarUrl, closed, allowList = [] } = command.team ?? {};
  const old = teams.get(id);
  if (!command.isTeam) {
    return undefined;
  }
  if (old === undefined) {
    const urls = { teamUrl: teamUrl ?? "", avatarUrl: avatarUrl ?? "" };
    const made = { id, referrer: partyId, name: name ?? "", ...urls, closed: closed ?? false, allowList: [] };
    return createTeam(context, made);
  }
  if (old.referrer !== partyId) {
    return "only the referrer can update the team properties";
  }
  const updated: Team = {
    ...old,
    name: name || old.name,
    teamUrl: teamUrl ?? old.teamUrl,
    avatarUrl: avatarUrl ?? old.avatarUrl,
    closed: closed ?? old.closed,
    allowList: allowList.length > 0 ? allowList : old.allowList,
  };
  teams.set(id, updated);
  const { id: teamId, referrer: _, ...rest } = updated;
  context.emit({
    case: "teamUpdated",
    value: create(TeamUpdatedSchema, { teamId, ...rest, allowList: [...rest.allowList] }),
  });
  return undefined;
}

/**
 * Adds a referee to a referral set and to its team (`core/referral/engine.go`).
 *
 * @param context the block
 * @param partyId the referee
 * @param command the referral set
 * @returns the error if the party does not join the set or the team
 */
export function applyReferralCode(
  context: ExecutionContext,
  partyId: string,
  command: ApplyReferralCode,
): string | undefined {
  const { referralSets, referees } = context.state;
  const setId = command.id.toLowerCase();
  const problem = [...referralSets.values()].includes(partyId)
    ? `party "${partyId}" is already a referrer`
    : referees.has(partyId)
      ? `party "${partyId}" has already been referred`
      : referralSets.has(setId)
        ? undefined
        : `no referral set for referral code "${setId}"`;
  if (problem !== undefined) {
    return `could not apply the referral code: ${problem}`;
  }
  referees.set(partyId, setId);
  const { time: joinedAt, height } = context.block;
  const value = create(RefereeJoinedReferralSetSchema, {
    ...{ setId, referee: partyId, joinedAt, atEpoch: epochOf(height) },
  });
  context.emit({ case: "refereeJoinedReferralSet", value });
  return command.doNotJoinTeam || !context.state.teams.has(setId) ? undefined : joinTeam(context, partyId, command);
}

/**
 * Adds a party to a team: immediately or, if it is in another team, at the start of the next epoch (`core/teams/engine.go`).
 *
 * @param context the block
 * @param partyId the party
 * @param command the team
 * @returns the error if it does not join
 */
export function joinTeam(
  context: ExecutionContext,
  partyId: string,
  command: Pick<JoinTeam, "id">,
): string | undefined {
  const { teams, teamMembers, teamSwitches } = context.state;
  const teamId = command.id.toLowerCase();
  const problem = joinError(teams, partyId, teamId);
  if (problem !== undefined) {
    return `couldn't join team: ${problem}`;
  }
  if (teamMembers.has(partyId)) {
    teamSwitches.set(partyId, teamId);
    return undefined;
  }
  teamMembers.set(partyId, teamId);
  const { time: joinedAt, height } = context.block;
  const value = create(RefereeJoinedTeamSchema, { teamId, referee: partyId, joinedAt, atEpoch: epochOf(height) });
  context.emit({ case: "refereeJoinedTeam", value });
  return undefined;
}

function joinError(teams: ReadonlyMap<string, Team>, partyId: string, teamId: string): string | undefined {
  if ([...teams.values()].some(({ referrer }) => referrer === partyId)) {
    return "a referrer cannot join another team";
  }
  const team = teams.get(teamId);
  if (team === undefined) {
    return `no team matches ID "${teamId}"`;
  }
  if (!team.closed || team.allowList.some((allowed) => allowed.toLowerCase() === partyId)) {
    return undefined;
  }
  return team.allowList.length === 0
    ? `team ID "${teamId}" is closed`
    : `the referee is not allowed to join team ID "${teamId}"`;
}

/** Moves the parties that switch teams, at the start of an epoch. */
export function switchTeams({ state, block, emit }: ExecutionContext): void {
  const { teams, teamMembers, teamSwitches } = state;
  for (const [referee, toTeamId] of teamSwitches) {
    teamSwitches.delete(referee);
    const fromTeamId = teamMembers.get(referee) ?? "";
    if (teams.has(toTeamId) && fromTeamId !== toTeamId) {
      teamMembers.set(referee, toTeamId);
      const when = { switchedAt: block.time, atEpoch: epochOf(block.height) };
      const value = create(RefereeSwitchedTeamSchema, { fromTeamId, toTeamId, referee, ...when });
      emit({ case: "refereeSwitchedTeam", value });
    }
  }
}

function createTeam({ state, block, emit }: ExecutionContext, team: Team): string | undefined {
  const { teams, teamMembers } = state;
  const all = [...teams.values()];
  if (all.some(({ name }) => name === team.name)) {
    return "the team name is already in use";
  }
  if (all.some(({ referrer }) => referrer === team.referrer)) {
    return `the party "${team.referrer}" already belongs to a team`;
  }
  if (team.name === "") {
    return "missing required team name parameter";
  }
  teams.set(team.id, team);
  teamMembers.set(team.referrer, team.id);
  const { id: teamId, ...rest } = team;
  const when = { createdAt: block.time, atEpoch: epochOf(block.height) };
  const value = create(TeamCreatedSchema, { teamId, ...rest, ...when, allowList: [...rest.allowList] });
  emit({ case: "teamCreated", value });
  return undefined;
}
