import { create } from "@bufbuild/protobuf";
import type {
  ApplyReferralCode,
  CreateReferralSet,
  JoinTeam,
  UpdateReferralSet,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import {
  RefereeJoinedReferralSetSchema,
  RefereeJoinedTeamSchema,
  RefereeSwitchedTeamSchema,
  ReferralSetCreatedSchema,
  TeamCreatedSchema,
  TeamUpdatedSchema,
} from "../../../gen/vega/events/v1/events_pb.js";
import { epochOf } from "../data/epochs.js";
import type { Team } from "./registers.js";
import type { Work } from "./state.js";

/**
 * Create a referral set, a team, or both (`core/processor/abci.go`, CreateReferralSet).
 *
 * @param work the block
 * @param partyId who makes it
 * @param command the set and the team
 * @param id the identifier of both
 * @returns why nothing was made, or the set alone, if so
 */
export function createReferralSet(
  work: Work,
  partyId: string,
  { isTeam, team, doNotCreateReferralSet }: CreateReferralSet,
  id: string,
): string | undefined {
  const { referralSets, referees } = work.state.registers;
  if (!doNotCreateReferralSet) {
    if ([...referralSets.values()].includes(partyId)) {
      return `party "${partyId}" is already a referrer`;
    }
    if (referees.has(partyId)) {
      return `party "${partyId}" has already been referred`;
    }
    referralSets.set(id, partyId);
    const times = { createdAt: work.block.time, updatedAt: work.block.time };
    const value = create(ReferralSetCreatedSchema, { setId: id, referrer: partyId, ...times });
    work.emit({ case: "referralSetCreated", value });
  }
  const { name = "", teamUrl = "", avatarUrl = "", closed = false, allowList = [] } = team ?? {};
  return isTeam ? createTeam(work, { id, referrer: partyId, name, teamUrl, avatarUrl, closed, allowList }) : undefined;
}

/**
 * Update a team. Where there is none of the identifier, one is made: the network does not look whose referral set it is
 * (`core/processor/abci.go`, UpdateReferralSet).
 *
 * @param work the block
 * @param partyId who updates it
 * @param command what changes
 * @returns why nothing was done, if so
 */
export function updateReferralSet(work: Work, partyId: string, command: UpdateReferralSet): string | undefined {
  const { teams } = work.state.registers;
  const id = command.id.toLowerCase();
  const { name, teamUrl, avatarUrl, closed, allowList = [] } = command.team ?? {};
  const old = teams.get(id);
  if (!command.isTeam) {
    return undefined;
  }
  if (old === undefined) {
    const urls = { teamUrl: teamUrl ?? "", avatarUrl: avatarUrl ?? "" };
    const made = { id, referrer: partyId, name: name ?? "", ...urls, closed: closed ?? false, allowList: [] };
    return createTeam(work, made);
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
  work.emit({
    case: "teamUpdated",
    value: create(TeamUpdatedSchema, { teamId, ...rest, allowList: [...rest.allowList] }),
  });
  return undefined;
}

/**
 * Become a referee of a referral set, and a member of its team (`core/referral/engine.go`).
 *
 * @param work the block
 * @param partyId the referee
 * @param command names the set
 * @returns why nothing was done, or the team was not joined, if so
 */
export function applyReferralCode(work: Work, partyId: string, command: ApplyReferralCode): string | undefined {
  const { referralSets, referees } = work.state.registers;
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
  const { time: joinedAt, height } = work.block;
  const value = create(RefereeJoinedReferralSetSchema, {
    ...{ setId, referee: partyId, joinedAt, atEpoch: epochOf(height) },
  });
  work.emit({ case: "refereeJoinedReferralSet", value });
  return command.doNotJoinTeam || !work.state.registers.teams.has(setId) ? undefined : joinTeam(work, partyId, command);
}

/**
 * Join a team, at once or, from another team, with the next epoch (`core/teams/engine.go`).
 *
 * @param work the block
 * @param partyId who joins
 * @param command names the team
 * @returns why nothing was done, if so
 */
export function joinTeam(work: Work, partyId: string, command: Pick<JoinTeam, "id">): string | undefined {
  const { teams, teamMembers, teamSwitches } = work.state.registers;
  const teamId = command.id.toLowerCase();
  const problem = joinProblem(teams, partyId, teamId);
  if (problem !== undefined) {
    return `couldn't join team: ${problem}`;
  }
  if (teamMembers.has(partyId)) {
    teamSwitches.set(partyId, teamId);
    return undefined;
  }
  teamMembers.set(partyId, teamId);
  const { time: joinedAt, height } = work.block;
  const value = create(RefereeJoinedTeamSchema, { teamId, referee: partyId, joinedAt, atEpoch: epochOf(height) });
  work.emit({ case: "refereeJoinedTeam", value });
  return undefined;
}

function joinProblem(teams: ReadonlyMap<string, Team>, partyId: string, teamId: string): string | undefined {
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

/** Move the parties that chose another team, when an epoch begins. */
export function switchTeams({ state, block, emit }: Work): void {
  const { teams, teamMembers, teamSwitches } = state.registers;
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

function createTeam({ state, block, emit }: Work, team: Team): string | undefined {
  const { teams, teamMembers } = state.registers;
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
