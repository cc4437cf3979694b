import type { Block, Event, Happening } from "./event.js";
import { keptMap, restoreAll, type Saved, saveAll } from "./kept.js";

/** The value of an event of a kind. */
export type ValueOf<C extends Event["case"]> = Extract<Event, { readonly case: C }>["value"];

/** The latest event about something, and where it came from. */
export interface Recorded<T> {
  readonly value: T;
  readonly block: Block;
  /** The transaction, or what stands for one where the block itself brought the event: 64 hex digits in lower case. */
  readonly txHash: string;
}

/** The latest events of a kind. */
export interface RecordsOf<C extends Event["case"]> {
  /** By what tells them apart, in the order in which the first event of each came. */
  readonly latest: ReadonlyMap<string, Recorded<ValueOf<C>>>;
}

/** What events told last, by their kind: what no other part of the world keeps. */
export interface Records {
  /** By identifier. */
  readonly transfer: RecordsOf<"transfer">;
  /** By `TRANSFER EPOCH`. */
  readonly transferFees: RecordsOf<"transferFees">;
  /** By identifier. */
  readonly proposal: RecordsOf<"proposal">;
  /** By `PROPOSAL PARTY`. */
  readonly vote: RecordsOf<"vote">;
  /** By identifier. */
  readonly oracleSpec: RecordsOf<"oracleSpec">;
  /** By identifier. */
  readonly withdrawal: RecordsOf<"withdrawal">;
  /** By party. */
  readonly partyProfileUpdated: RecordsOf<"partyProfileUpdated">;
  /** By `PARTY MARKET`. */
  readonly partyMarginModeUpdated: RecordsOf<"partyMarginModeUpdated">;
  /** By `PARTY NODE EPOCH`. */
  readonly delegationBalance: RecordsOf<"delegationBalance">;
  /** By identifier of the set. */
  readonly referralSetCreated: RecordsOf<"referralSetCreated">;
  /** By referee. */
  readonly refereeJoinedReferralSet: RecordsOf<"refereeJoinedReferralSet">;
  /** By identifier of the team. */
  readonly teamCreated: RecordsOf<"teamCreated">;
  /** By identifier of the team. */
  readonly teamUpdated: RecordsOf<"teamUpdated">;
  /** By referee. */
  readonly refereeJoinedTeam: RecordsOf<"refereeJoinedTeam">;
  /** By `REFEREE EPOCH`. */
  readonly refereeSwitchedTeam: RecordsOf<"refereeSwitchedTeam">;
  /** By `PROVISION VERSION`. */
  readonly liquidityProvision: RecordsOf<"liquidityProvision">;
  /** By identifier. */
  readonly amm: RecordsOf<"amm">;
  /** By the time of the block, and the sources that match. */
  readonly oracleData: RecordsOf<"oracleData">;
  /** By `PARTY ASSET`. */
  readonly transferFeesDiscount: RecordsOf<"transferFeesDiscount">;
}

/** Records that events change. */
export interface LivingRecords extends Saved {
  readonly records: Records;
  /** Note an event. One of a kind that is not recorded changes nothing. */
  apply(happening: Happening): void;
  save(): Readonly<Record<string, unknown>>;
  restore(saved: Readonly<Record<string, unknown>>): void;
}

/** The most records of a kind. The oldest make room. */
const MAX_RECORDS = 100_000;

/**
 * Keep the latest events of each kind of {@link Records}.
 *
 * @returns the records, none yet
 */
export function createRecords(): LivingRecords {
  const records = {
    transfer: recordsOf(
      (event) => (event.case === "transfer" ? event.value : undefined),
      ({ id }) => id,
    ),
    transferFees: recordsOf(
      (event) => (event.case === "transferFees" ? event.value : undefined),
      ({ transferId, epoch }) => `${transferId} ${epoch}`,
    ),
    transferFeesDiscount: recordsOf(
      (event) => (event.case === "transferFeesDiscount" ? event.value : undefined),
      ({ party, asset }) => `${party} ${asset}`,
    ),
    proposal: recordsOf(
      (event) => (event.case === "proposal" ? event.value : undefined),
      ({ id }) => id,
    ),
    vote: recordsOf(
      (event) => (event.case === "vote" ? event.value : undefined),
      ({ proposalId, partyId }) => `${proposalId} ${partyId}`,
    ),
    oracleSpec: recordsOf(
      (event) => (event.case === "oracleSpec" ? event.value : undefined),
      ({ externalDataSourceSpec }) => externalDataSourceSpec?.spec?.id ?? "",
    ),
    withdrawal: recordsOf(
      (event) => (event.case === "withdrawal" ? event.value : undefined),
      ({ id }) => id,
    ),
    partyProfileUpdated: recordsOf(
      (event) => (event.case === "partyProfileUpdated" ? event.value : undefined),
      ({ updatedProfile }) => updatedProfile?.partyId ?? "",
    ),
    partyMarginModeUpdated: recordsOf(
      (event) => (event.case === "partyMarginModeUpdated" ? event.value : undefined),
      ({ partyId, marketId }) => `${partyId} ${marketId}`,
    ),
    delegationBalance: recordsOf(
      (event) => (event.case === "delegationBalance" ? event.value : undefined),
      ({ party, nodeId, epochSeq }) => `${party} ${nodeId} ${epochSeq}`,
    ),
    referralSetCreated: recordsOf(
      (event) => (event.case === "referralSetCreated" ? event.value : undefined),
      ({ setId }) => setId,
    ),
    refereeJoinedReferralSet: recordsOf(
      (event) => (event.case === "refereeJoinedReferralSet" ? event.value : undefined),
      ({ referee }) => referee,
    ),
    teamCreated: recordsOf(
      (event) => (event.case === "teamCreated" ? event.value : undefined),
      ({ teamId }) => teamId,
    ),
    teamUpdated: recordsOf(
      (event) => (event.case === "teamUpdated" ? event.value : undefined),
      ({ teamId }) => teamId,
    ),
    refereeJoinedTeam: recordsOf(
      (event) => (event.case === "refereeJoinedTeam" ? event.value : undefined),
      ({ referee }) => referee,
    ),
    refereeSwitchedTeam: recordsOf(
      (event) => (event.case === "refereeSwitchedTeam" ? event.value : undefined),
      ({ referee, atEpoch }) => `${referee} ${atEpoch}`,
    ),
    liquidityProvision: recordsOf(
      (event) => (event.case === "liquidityProvision" ? event.value : undefined),
      ({ id, version }) => `${id} ${version}`,
    ),
    amm: recordsOf(
      (event) => (event.case === "amm" ? event.value : undefined),
      ({ id }) => id,
    ),
    oracleData: recordsOf(
      (event) => (event.case === "oracleData" ? event.value : undefined),
      ({ externalData }) => `${externalData?.data?.broadcastAt} ${externalData?.data?.matchedSpecIds.join(" ")}`,
    ),
  } satisfies Records;
  return {
    records,
    apply(happening) {
      for (const kind of Object.values(records)) {
        kind.apply(happening);
      }
    },
    save: () => saveAll(records),
    restore: (saved) => restoreAll(records, saved),
  };
}

function recordsOf<T>(select: (event: Event) => T | undefined, keyOf: (value: T) => string) {
  const map = keptMap<string, Recorded<T>>(() => []);
  return {
    get latest() {
      return map.value;
    },
    apply({ block, txHash, event }: Happening): void {
      const value = select(event);
      if (value === undefined) {
        return;
      }
      const all = map.change().set(keyOf(value), { value, block, txHash });
      const [oldest] = all.size > MAX_RECORDS ? all.keys() : [];
      if (oldest !== undefined) {
        all.delete(oldest);
      }
    },
    save: () => map.save(),
    restore: (saved: Map<string, Recorded<T>> | undefined) => map.restore(saved),
  };
}
