import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { epochOf } from "../world/epochs.js";
import type { World } from "../world/world.js";
import type { CommandKind } from "./command-names.js";

interface Limit {
  /** Network parameter with the minimum of governance tokens, if there is one. */
  readonly minTokens?: string;
  /** Network parameter with the maximum number of commands per epoch; one without it. */
  readonly max?: string;
}

/** A limit that the local node applies. */
interface Policy extends Limit {
  /** Its name in the network's error texts. */
  readonly name: string;
  readonly kinds: readonly CommandKind[];
}

/** The network's policies (`New` in `core/spam/engine.go`). The policy for votes counts per proposal. */
const POLICIES = {
  proposals: {
    name: "proposal",
    kinds: ["proposalSubmission"],
    minTokens: "spam.protection.proposal.min.tokens",
    max: "spam.protection.max.proposals",
  },
  transfers: {
    name: "transfer",
    kinds: ["transfer", "cancelTransfer"],
    max: "spam.protection.maxUserTransfersPerEpoch",
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

/** The limits on commands that the local node does not execute. They are only part of the statistics. */
const UNUSED = {
  nodeAnnouncements: { minTokens: "reward.staking.delegation.minimumValidatorStake" },
  delegations: {
    minTokens: "spam.protection.delegation.min.tokens",
    max: "spam.protection.max.delegations",
  },
  issueSignatures: {
    minTokens: "spam.protection.minMultisigUpdates",
    max: "spam.protection.maxMultisigUpdates",
  },
  createReferralSet: {
    minTokens: "referralProgram.minStakedVegaTokens",
    max: "spam.protection.max.createReferralSet",
  },
  updateReferralSet: {
    minTokens: "referralProgram.minStakedVegaTokens",
    max: "spam.protection.max.updateReferralSet",
  },
  applyReferralCode: { max: "spam.protection.max.applyReferralCode" },
} as const satisfies Readonly<Record<string, Limit>>;

const policies: readonly Policy[] = Object.values(POLICIES);

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

interface CountedCommand {
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
  statistics(party: string): ReturnType<typeof statisticsOf>;
  save(): SpamCounts;
  restore(counts: SpamCounts): void;
}

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

function keyOf(policy: Policy, { command, partyId }: CountedCommand): string {
  const proposal = command.case === "voteSubmission" ? ` ${command.value.proposalId}` : "";
  return `${policy.name} ${partyId}${proposal}`;
}

type Parameters = SpamOptions["world"];

function maxOf({ max }: Limit, { parameters }: Parameters): number {
  return Number(parameters.get(max ?? "") ?? "1");
}

/** Returns the minimum of governance tokens, in units of the token's last decimal. */
function minTokensOf({ minTokens }: Limit, { parameters }: Parameters): string {
  return parameters.get(minTokens ?? "") ?? "0";
}

function statisticsOf({ epoch, counts }: SpamCounts, party: string, world: Parameters) {
  const { votes, proposals, transfers } = POLICIES;
  const prefix = `${votes.name} ${party} `;
  const voted = [...counts].filter(([key]) => key.startsWith(prefix));
  const statistic = (limit: Limit, count = 0) => ({
    countForEpoch: BigInt(count),
    maxForEpoch: BigInt(maxOf(limit, world)),
    minTokensRequired: minTokensOf(limit, world),
  });
  const counted = (policy: Policy) => statistic(policy, counts.get(`${policy.name} ${party}`));
  return {
    proposals: counted(proposals),
    transfers: counted(transfers),
    delegations: statistic(UNUSED.delegations),
    nodeAnnouncements: statistic(UNUSED.nodeAnnouncements),
    issueSignatures: statistic(UNUSED.issueSignatures),
    createReferralSet: statistic(UNUSED.createReferralSet),
    updateReferralSet: statistic(UNUSED.updateReferralSet),
    applyReferralCode: statistic(UNUSED.applyReferralCode),
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
