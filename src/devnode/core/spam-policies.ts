import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { epochOf } from "../data/epochs.js";
import type { World } from "../world/world.js";
import type { CommandKind } from "./command-names.js";

/** A limit on the commands of a party in an epoch. */
interface Policy {
  /** Its name in the network's refusals. */
  readonly name: string;
  readonly kinds: readonly CommandKind[];
  /** The network parameter with the governance tokens that a party needs; none where it needs none. */
  readonly minTokens?: string;
  /** The network parameter with the number of commands in an epoch; one where there is none. */
  readonly max?: string;
}

/** The network's policies (`New` in `core/spam/engine.go`). That for votes counts by proposal. */
const POLICIES = {
  proposals: {
    name: "proposal",
    kinds: ["proposalSubmission", "batchProposalSubmission"],
    minTokens: "spam.protection.proposal.min.tokens",
    max: "spam.protection.max.proposals",
  },
  nodeAnnouncements: {
    name: "validatorJoin",
    kinds: ["announceNode"],
    minTokens: "reward.staking.delegation.minimumValidatorStake",
  },
  delegations: {
    name: "delegation",
    kinds: ["delegateSubmission", "undelegateSubmission"],
    minTokens: "spam.protection.delegation.min.tokens",
    max: "spam.protection.max.delegations",
  },
  transfers: {
    name: "transfer",
    kinds: ["transfer", "cancelTransfer"],
    max: "spam.protection.maxUserTransfersPerEpoch",
  },
  issueSignatures: {
    name: "issueSignature",
    kinds: ["issueSignatures"],
    minTokens: "spam.protection.minMultisigUpdates",
    max: "spam.protection.maxMultisigUpdates",
  },
  createReferralSet: {
    name: "createReferralSet",
    kinds: ["createReferralSet"],
    minTokens: "referralProgram.minStakedVegaTokens",
    max: "spam.protection.max.createReferralSet",
  },
  updateReferralSet: {
    name: "updateReferralSet",
    kinds: ["updateReferralSet"],
    minTokens: "referralProgram.minStakedVegaTokens",
    max: "spam.protection.max.updateReferralSet",
  },
  applyReferralCode: {
    name: "applyReferralCode",
    kinds: ["applyReferralCode"],
    max: "spam.protection.max.applyReferralCode",
  },
  updatePartyProfile: {
    name: "updatePartyProfile",
    kinds: ["updatePartyProfile"],
    max: "spam.protection.max.updatePartyProfile",
  },
  votes: {
    name: "vote",
    kinds: ["voteSubmission"],
    minTokens: "spam.protection.voting.min.tokens",
    max: "spam.protection.max.votes",
  },
} as const satisfies Readonly<Record<string, Policy>>;

const policies: readonly Policy[] = Object.values(POLICIES);

/** The name of a policy in the spam statistics. */
type PolicyName = Exclude<keyof typeof POLICIES, "updatePartyProfile" | "votes">;

/** What parties have sent in an epoch. It is plain data. */
export interface SpamCounts {
  readonly epoch: bigint;
  /** The numbers of commands, by policy and party, and for votes by proposal. */
  readonly counts: ReadonlyMap<string, number>;
}

/** What the limits are read from. */
export interface SpamOptions {
  readonly world: Pick<World, "parameters">;
  /** The governance tokens of a party, in units of the token's last decimal. */
  readonly stakeOf: (party: string) => bigint;
}

/** A command and who sent it. */
export interface Sent {
  readonly command: InputData["command"];
  readonly partyId: string;
}

/** The network's limits on the commands of each party in an epoch (`core/spam/`). */
export interface SpamPolicies {
  /** Tells why a command is refused when it is submitted, if it is: for want of tokens, or for one too many. */
  refusal(sent: Sent): string | undefined;
  /** Begins a block: counts its commands, and tells for each one whether the block takes it. */
  beginBlock(height: bigint, commands: readonly Sent[]): readonly boolean[];
  /** The count and the limits of each policy for a party. */
  statistics(party: string): SpamStatistics;
  save(): SpamCounts;
  restore(counts: SpamCounts): void;
}

/** The part of `GetSpamStatistics` that is about commands. */
export type SpamStatistics = Readonly<
  Record<
    PolicyName,
    { readonly countForEpoch: bigint; readonly maxForEpoch: bigint; readonly minTokensRequired: string }
  >
> & {
  readonly votes: {
    readonly statistics: {
      readonly proposal: string;
      readonly countForEpoch: bigint;
      readonly minTokensRequired: string;
    }[];
    readonly maxForEpoch: bigint;
  };
  readonly epochSeq: bigint;
};

/**
 * Creates the limits on commands.
 *
 * @param height the height of the last block
 * @param options the network's parameters, and the stakes of parties
 * @returns the limits; nothing is counted yet
 */
export function createSpamPolicies(height: bigint, { world, stakeOf }: SpamOptions): SpamPolicies {
  let epoch = epochOf(height);
  let counts = new Map<string, number>();
  const parameter = (name: string | undefined, otherwise: string) => world.parameters.get(name ?? "") ?? otherwise;
  const maxOf = ({ max }: Policy) => Number(parameter(max, "1"));
  const tokensOf = ({ minTokens }: Policy) => parameter(minTokens, "0");
  const statistic = (policy: Policy, party: string) => ({
    countForEpoch: BigInt(counts.get(`${policy.name} ${party}`) ?? 0),
    maxForEpoch: BigInt(maxOf(policy)),
    minTokensRequired: tokensOf(policy),
  });

  return {
    refusal(sent) {
      const policy = policyOf(sent);
      if (policy === undefined) {
        return undefined;
      }
      if (stakeOf(sent.partyId) < BigInt(tokensOf(policy))) {
        const what = policy === POLICIES.votes ? "votes" : `${policy.name} request`;
        return `party has insufficient associated governance tokens in their staking account to submit ${what}`;
      }
      if ((counts.get(keyOf(policy, sent)) ?? 0) < maxOf(policy)) {
        return undefined;
      }
      return policy === POLICIES.votes
        ? "party has already voted the maximum number of times per proposal per epoch"
        : `party has already submitted the maximum number of ${policy.name} requests per epoch`;
    },

    beginBlock(blockHeight, commands) {
      if (epochOf(blockHeight) !== epoch) {
        epoch = epochOf(blockHeight);
        counts = new Map();
      }
      return commands.map((sent) => {
        const policy = policyOf(sent);
        if (policy === undefined) {
          return true;
        }
        const key = keyOf(policy, sent);
        const count = counts.get(key) ?? 0;
        if (count >= maxOf(policy)) {
          return false;
        }
        counts.set(key, count + 1);
        return true;
      });
    },

    statistics(party) {
      const { votes, updatePartyProfile: _, ...others } = POLICIES;
      const prefix = `${votes.name} ${party} `;
      const voted = [...counts].filter(([key]) => key.startsWith(prefix));
      const of = (policy: Policy) => statistic(policy, party);
      return {
        proposals: of(others.proposals),
        delegations: of(others.delegations),
        transfers: of(others.transfers),
        nodeAnnouncements: of(others.nodeAnnouncements),
        issueSignatures: of(others.issueSignatures),
        createReferralSet: of(others.createReferralSet),
        updateReferralSet: of(others.updateReferralSet),
        applyReferralCode: of(others.applyReferralCode),
        votes: {
          statistics: voted.map(([key, count]) => ({
            proposal: key.slice(prefix.length),
            countForEpoch: BigInt(count),
            minTokensRequired: tokensOf(votes),
          })),
          maxForEpoch: BigInt(maxOf(votes)),
        },
        epochSeq: epoch,
      };
    },

    save: () => ({ epoch, counts: new Map(counts) }),

    restore(saved) {
      ({ epoch } = saved);
      counts = new Map(saved.counts);
    },
  };
}

function policyOf({ command }: Sent): Policy | undefined {
  return policies.find(({ kinds }) => kinds.some((kind) => kind === command.case));
}

/** What a command is counted under. */
function keyOf(policy: Policy, { command, partyId }: Sent): string {
  const proposal = command.case === "voteSubmission" ? ` ${command.value.proposalId}` : "";
  return `${policy.name} ${partyId}${proposal}`;
}
