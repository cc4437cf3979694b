import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { epochOf } from "../data/epochs.js";
import type { World } from "../world/world.js";
import type { CommandKind } from "./command-names.js";

/** A limit on the commands of a party per epoch. */
interface Policy {
  /** Its name in the network's error texts. */
  readonly name: string;
  readonly kinds: readonly CommandKind[];
  /** Network parameter with the minimum of governance tokens, if there is one. */
  readonly minTokens?: string;
  /** Network parameter with the maximum number of commands per epoch; one without it. */
  readonly max?: string;
}

/** The network's policies (`New` in `core/spam/engine.go`). The policy for votes counts per proposal. */
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

/** Name of a policy in the spam statistics. */
type PolicyName = Exclude<keyof typeof POLICIES, "updatePartyProfile" | "votes">;

/** Commands of parties in an epoch. It is plain data. */
export interface SpamCounts {
  readonly epoch: bigint;
  /** Number of commands by policy and party, and for votes by proposal. */
  readonly counts: ReadonlyMap<string, number>;
}

/** The inputs of the limits. */
export interface SpamOptions {
  readonly world: Pick<World, "parameters">;
  /** Returns a party's governance tokens, in units of the token's last decimal. */
  readonly stakeOf: (party: string) => bigint;
}

/** A command and its sender. */
export interface CountedCommand {
  readonly command: InputData["command"];
  readonly partyId: string;
}

/** The network's limits on the commands of each party per epoch (`core/spam/`). */
export interface SpamPolicies {
  /** Returns why a submitted command is rejected: too few tokens or too many commands. */
  refusal(sent: CountedCommand): string | undefined;
  /** Begins a block and counts its commands. Returns for each command whether the block includes it. */
  beginBlock(height: bigint, commands: readonly CountedCommand[]): readonly boolean[];
  /** Returns the count and limits of each policy for a party. */
  statistics(party: string): SpamStatistics;
  save(): SpamCounts;
  restore(counts: SpamCounts): void;
}

/** The part of `GetSpamStatistics` about commands. */
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
 * @param height height of the last block
 * @param options the network parameters and the stakes of parties
 * @returns the limits, without counts
 */
export function createSpamPolicies(height: bigint, { world, stakeOf }: SpamOptions): SpamPolicies {
  let epoch = epochOf(height);
  let counts = new Map<string, number>();

  return {
    refusal(sent) {
      const policy = policyOf(sent);
      if (policy === undefined) {
        return undefined;
      }
      if (stakeOf(sent.partyId) < BigInt(minTokensOf(policy, world))) {
        const what = policy === POLICIES.votes ? "votes" : `${policy.name} request`;
        return `party has insufficient associated governance tokens in their staking account to submit ${what}`;
      }
      if ((counts.get(keyOf(policy, sent)) ?? 0) < maxOf(policy, world)) {
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
        if (count >= maxOf(policy, world)) {
          return false;
        }
        counts.set(key, count + 1);
        return true;
      });
    },

    statistics: (party) => statisticsOf({ epoch, counts }, party, world),

    save: () => ({ epoch, counts: new Map(counts) }),

    restore(saved) {
      ({ epoch } = saved);
      counts = new Map(saved.counts);
    },
  };
}

function policyOf({ command }: CountedCommand): Policy | undefined {
  return policies.find(({ kinds }) => kinds.some((kind) => kind === command.case));
}

/** Returns the key that a command is counted under. */
function keyOf(policy: Policy, { command, partyId }: CountedCommand): string {
  const proposal = command.case === "voteSubmission" ? ` ${command.value.proposalId}` : "";
  return `${policy.name} ${partyId}${proposal}`;
}

type Parameters = SpamOptions["world"];

/** Returns the maximum number of commands per epoch. */
function maxOf({ max }: Policy, { parameters }: Parameters): number {
  return Number(parameters.get(max ?? "") ?? "1");
}

/** Returns the minimum of governance tokens, in units of the token's last decimal. */
function minTokensOf({ minTokens }: Policy, { parameters }: Parameters): string {
  return parameters.get(minTokens ?? "") ?? "0";
}

function statisticsOf({ epoch, counts }: SpamCounts, party: string, world: Parameters): SpamStatistics {
  const { votes, updatePartyProfile: _, ...others } = POLICIES;
  const prefix = `${votes.name} ${party} `;
  const voted = [...counts].filter(([key]) => key.startsWith(prefix));
  const statistic = (policy: Policy) => ({
    countForEpoch: BigInt(counts.get(`${policy.name} ${party}`) ?? 0),
    maxForEpoch: BigInt(maxOf(policy, world)),
    minTokensRequired: minTokensOf(policy, world),
  });
  return {
    proposals: statistic(others.proposals),
    delegations: statistic(others.delegations),
    transfers: statistic(others.transfers),
    nodeAnnouncements: statistic(others.nodeAnnouncements),
    issueSignatures: statistic(others.issueSignatures),
    createReferralSet: statistic(others.createReferralSet),
    updateReferralSet: statistic(others.updateReferralSet),
    applyReferralCode: statistic(others.applyReferralCode),
    votes: {
      statistics: voted.map(([key, count]) => ({
        proposal: key.slice(prefix.length),
        countForEpoch: BigInt(count),
        minTokensRequired: minTokensOf(votes, world),
      })),
      maxForEpoch: BigInt(maxOf(votes, world)),
    },
    epochSeq: epoch,
  };
}
