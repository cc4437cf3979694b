import { Code, type ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { TeamCreated } from "../../../gen/vega/events/v1/events_pb.js";
import { apiError } from "../api-error.js";
import type { World } from "../world/world.js";
import { type Query, queryIdentifier } from "./conditions.js";
import { keyPart, sortedListing, timePart } from "./listing.js";
import { readPageOf, readPagination } from "./page.js";
import { isWanted, recordListing } from "./records-listing.js";

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

/** A party that came into a team. */
interface Membership {
  readonly teamId: string;
  readonly referee: string;
  readonly joinedAt: bigint;
  readonly joinedAtEpoch: bigint;
}

type ReferralMethods = Pick<
  ServiceImpl<typeof TradingDataService>,
  "listReferralSets" | "listReferralSetReferees" | "listTeams" | "listTeamReferees" | "listTeamRefereeHistory"
>;

/**
 * Implements the methods for referral sets and teams that blocks brought.
 *
 * @param world how things stand
 * @returns the methods of the data service that list them and their members
 */
export function referralMethods({ records }: World): ReferralMethods {
  const memberships = (): Membership[] => [
    ...[...records.refereeJoinedTeam.latest.values()].map(({ value }) => ({ ...value, joinedAtEpoch: value.atEpoch })),
    ...[...records.refereeSwitchedTeam.latest.values()].map(
      ({ value: { referee, toTeamId, switchedAt, atEpoch } }) => ({
        ...{ teamId: toTeamId, referee, joinedAt: switchedAt, joinedAtEpoch: atEpoch },
      }),
    ),
  ];
  /** The latest team of each referee. */
  const current = () =>
    new Map(
      memberships()
        .toSorted((a, b) => Number(a.joinedAt - b.joinedAt))
        .map((member) => [member.referee, member]),
    );
  const refereesOf = (setId: string) =>
    [...records.refereeJoinedReferralSet.latest.values()].filter(({ value }) => value.setId === setId);

  /** A team as it was made, with what changed since. */
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
    async listReferralSets({ referralSetId, referrer, referee, pagination }) {
      const page = readPagination(pagination);
      const [id, maker, member] = [referralSetId, referrer, referee].map((text) => text && queryIdentifier(text, ROWS));
      const isOfMember = (setId: string) =>
        !member || records.refereeJoinedReferralSet.latest.get(member)?.value.setId === setId;
      const listing = recordListing(
        records.referralSetCreated.latest,
        (set) => isWanted(id, set.setId) && isWanted(maker, set.referrer) && isOfMember(set.setId),
      );
      return {
        referralSets: readPageOf(
          listing,
          page,
          ({ value: { setId, referrer: owner, createdAt, updatedAt } }) => ({
            ...{ id: setId, referrer: owner, createdAt, updatedAt },
            totalMembers: BigInt(refereesOf(setId).length + 1),
          }),
          ROWS,
        ),
      };
    },

    async listReferralSetReferees({ referralSetId, referrer, referee, pagination }) {
      const page = readPagination(pagination);
      const [id, maker, member] = [referralSetId, referrer, referee].map((text) => text && queryIdentifier(text, ROWS));
      const isMadeBy = (setId: string) =>
        isWanted(maker, records.referralSetCreated.latest.get(setId)?.value.referrer ?? "");
      const listing = recordListing(
        records.refereeJoinedReferralSet.latest,
        (joined) => isWanted(id, joined.setId) && isWanted(member, joined.referee) && isMadeBy(joined.setId),
      );
      return {
        referralSetReferees: readPageOf(
          listing,
          page,
          ({ value: { setId, referee: party, joinedAt, atEpoch } }) => ({
            ...{ referralSetId: setId, referee: party, joinedAt, atEpoch },
            ...{ totalRefereeNotionalTakerVolume: "0", totalRefereeGeneratedRewards: "0" },
          }),
          ROWS,
        ),
      };
    },

    async listTeams({ teamId, partyId, pagination }) {
      const page = readPagination(pagination);
      const [id, party] = [teamId, partyId].map((text) => text && queryIdentifier(text, TEAMS));
      const teamOfParty = party && current().get(party)?.teamId;
      const listing = recordListing(
        records.teamCreated.latest,
        (team) => isWanted(id, team.teamId) && (!party || team.referrer === party || team.teamId === teamOfParty),
      );
      return { teams: readPageOf(listing, page, ({ value }) => teamOf(value), TEAMS) };
    },

    async listTeamReferees({ teamId, pagination }) {
      const page = readPagination(pagination);
      if (teamId === "") {
        throw apiError(Code.Internal, REFEREES.message, "teamID must be provided");
      }
      const id = queryIdentifier(teamId, REFEREES);
      const found = [...current().values()].filter((member) => member.teamId === id);
      const listing = sortedListing(found, [keyPart.id], ({ referee }) => [referee]);
      return { teamReferees: readPageOf(listing, page, (member) => member, REFEREES) };
    },

    async listTeamRefereeHistory({ referee, pagination }) {
      const page = readPagination(pagination);
      if (referee === "") {
        throw apiError(Code.Internal, HISTORY.message, "referee must be provided");
      }
      const party = queryIdentifier(referee, HISTORY);
      const found = memberships().filter((member) => member.referee === party);
      const listing = sortedListing(found, [keyPart.time], ({ joinedAt }) => [timePart(joinedAt)]);
      const nodeOf = ({ teamId, joinedAt, joinedAtEpoch }: Membership) => ({ teamId, joinedAt, joinedAtEpoch });
      return { teamRefereeHistory: readPageOf(listing, page, nodeOf, HISTORY) };
    },
  };
}
