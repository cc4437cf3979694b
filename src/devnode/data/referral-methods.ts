import { Code } from "@connectrpc/connect";
import type { TeamCreated } from "../../../gen/vega/events/v1/events_pb.js";
import { apiError } from "../api-error.js";
import type { World } from "../world/world.js";
import { askedIdentifier, isWanted, type Query, queryIdentifier } from "./filters.js";
import { type DataMethods, listing } from "./method.js";
import { byBlock, keyPart, sorted, timePart, withNodes } from "./pagination.js";

const ROWS: Query = { message: "", inner: (cause) => `scany: query multiple result rows: ${cause}` };
const TEAMS: Query = { message: "failed to list teams", inner: (cause) => `scany: query one result row: ${cause}` };
const REFEREES: Query = {
  message: "failed to list team referees",
  inner: (cause) => `scany: query multiple result rows: ${cause}`,
};
const HISTORY: Query = {
  message: "failed to list team referee history",
  inner: (cause) => `scany: query multiple result rows: ${cause}`,
};

/** The membership of a referee in a team. */
interface Membership {
  readonly teamId: string;
  readonly referee: string;
  readonly joinedAt: bigint;
  readonly joinedAtEpoch: bigint;
}

/**
 * Implements the methods for referral sets and teams.
 *
 * @param world the network's current state
 * @returns the methods of the data service that list them and their members
 */
export function referralMethods({ records }: World): DataMethods {
  const memberships = (): Membership[] => [
    ...[...records.refereeJoinedTeam.latest.values()].map(({ value }) => ({ ...value, joinedAtEpoch: value.atEpoch })),
    ...[...records.refereeSwitchedTeam.latest.values()].map(
      ({ value: { referee, toTeamId, switchedAt, atEpoch } }) => ({
        ...{ teamId: toTeamId, referee, joinedAt: switchedAt, joinedAtEpoch: atEpoch },
      }),
    ),
  ];
  /** Returns the current team of each referee. */
  const current = () =>
    new Map(
      memberships()
        .toSorted((a, b) => Number(a.joinedAt - b.joinedAt))
        .map((member) => [member.referee, member]),
    );
  const refereesOf = (setId: string) =>
    [...records.refereeJoinedReferralSet.latest.values()].filter(({ value }) => value.setId === setId);

  /** Returns a team with all changes since its creation. */
  function teamOf({ $typeName: _, atEpoch, ...created }: TeamCreated) {
    const updated = records.teamUpdated.latest.get(created.teamId)?.value;
    const { name, teamUrl, avatarUrl, closed, allowList } = updated ?? created;
    const changes = {
      ...{ name, closed, allowList },
      ...(teamUrl !== undefined && { teamUrl }),
      ...(avatarUrl !== undefined && { avatarUrl }),
    };
    const members = [...current().values()].filter(({ teamId }) => teamId === created.teamId);
    return { ...created, ...changes, createdAtEpoch: atEpoch, totalMembers: BigInt(members.length + 1) };
  }

  return {
    listReferralSets: listing({
      query: ROWS,
      from: () => byBlock(records.referralSetCreated),
      where({ referralSetId, referrer, referee }) {
        const [id, maker, member] = [referralSetId, referrer, referee].map((text) => askedIdentifier(text, ROWS));
        const isOfMember = (setId: string) =>
          !member || records.refereeJoinedReferralSet.latest.get(member)?.value.setId === setId;
        return (set) => isWanted(id, set.setId) && isWanted(maker, set.referrer) && isOfMember(set.setId);
      },
      answer: (page) => ({
        referralSets: withNodes(page, ({ setId, referrer, createdAt, updatedAt }) => ({
          ...{ id: setId, referrer, createdAt, updatedAt },
          totalMembers: BigInt(refereesOf(setId).length + 1),
        })),
      }),
    }),

    listReferralSetReferees: listing({
      query: ROWS,
      from: () => byBlock(records.refereeJoinedReferralSet),
      where({ referralSetId, referrer, referee }) {
        const [id, maker, member] = [referralSetId, referrer, referee].map((text) => askedIdentifier(text, ROWS));
        const isMadeBy = (setId: string) =>
          isWanted(maker, records.referralSetCreated.latest.get(setId)?.value.referrer ?? "");
        return (joined) => isWanted(id, joined.setId) && isWanted(member, joined.referee) && isMadeBy(joined.setId);
      },
      answer: (page) => ({
        referralSetReferees: withNodes(page, ({ setId, referee, joinedAt, atEpoch }) => ({
          ...{ referralSetId: setId, referee, joinedAt, atEpoch },
          ...{ totalRefereeNotionalTakerVolume: "0", totalRefereeGeneratedRewards: "0" },
        })),
      }),
    }),

    listTeams: listing({
      query: TEAMS,
      from: () => byBlock(records.teamCreated),
      where({ teamId, partyId }) {
        const [id, party] = [teamId, partyId].map((text) => askedIdentifier(text, TEAMS));
        const teamOfParty = party && current().get(party)?.teamId;
        return (team) =>
          isWanted(id, team.teamId) && (!party || team.referrer === party || team.teamId === teamOfParty);
      },
      answer: (teams) => ({ teams: withNodes(teams, teamOf) }),
    }),

    listTeamReferees: listing({
      query: REFEREES,
      from: () => sorted(current().values(), [keyPart.id], ({ referee }) => [referee]),
      where({ teamId }) {
        if (teamId === "") {
          throw apiError(Code.Internal, REFEREES.message, "teamID must be provided");
        }
        const id = queryIdentifier(teamId, REFEREES);
        return (member) => member.teamId === id;
      },
      answer: (teamReferees) => ({ teamReferees }),
    }),

    listTeamRefereeHistory: listing({
      query: HISTORY,
      from: () => sorted(memberships(), [keyPart.time], ({ joinedAt }) => [timePart(joinedAt)]),
      where({ referee }) {
        if (referee === "") {
          throw apiError(Code.Internal, HISTORY.message, "referee must be provided");
        }
        const party = queryIdentifier(referee, HISTORY);
        return (member) => member.referee === party;
      },
      answer: (page) => ({
        teamRefereeHistory: withNodes(page, ({ teamId, joinedAt, joinedAtEpoch }) => ({
          teamId,
          joinedAt,
          joinedAtEpoch,
        })),
      }),
    }),
  };
}
