import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  AccountBalanceSchema,
  AccountFilter,
  AggregatedBalanceSchema,
  DateRange,
} from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Account } from "../../../gen/vega/vega_pb.js";
import { invalidArgument, requireFound } from "../api-error.js";
import type { Timed } from "../world/timeline.js";
import type { World } from "../world/world.js";
import { identifier, identifiers, isWanted, oneOf, type Query, queryIdentifier, within } from "./filters.js";
import { type DataMethods, listing, stream } from "./method.js";
import { byBlock, inTime, keyPart, readPagination, sorted, withNodes } from "./pagination.js";
import { type OpenStreams, snapshotPages } from "./streams.js";

/** Nanoseconds. */
const YEAR = 365n * 86_400_000_000_000n;

/** The earliest date of a date range (datanode/entities/date_range.go), in Unix nanoseconds. */
const MINIMUM_DATE = BigInt(Date.parse("2020-01-01T00:00:00Z")) * 1_000_000n;

const ACCOUNTS: Query = {
  message: "failed to get accounts",
  inner: (cause) => `querying account balances: ${cause}`,
};
const BALANCES: Query = {
  message: "failed to get balances",
  inner: (cause) => (cause.startsWith("decoding") ? `querying balances: ${cause}` : cause),
};
const DEPOSIT: Query = { message: "failed to get deposit" };
const WITHDRAWAL: Query = { message: "failed to get withdrawal" };

/** The data node's error if the snapshot of a stream of accounts cannot be created. */
const snapshotQuery = (prefix = ""): Query => ({
  message: "failed to send accounts snapshot",
  inner: (cause) => `fetching account balance initial image: querying account balances: ${prefix}${cause}`,
});

/**
 * Implements the methods for accounts, balance changes and ledger movements (datanode/sqlstore/balances.go), for deposits
 * (datanode/sqlstore/deposits.go) and for withdrawals. All deposits are part of the generated history.
 */
export function accountMethods(world: World, streams: OpenStreams): DataMethods {
  const { deposits, records } = world;
  return {
    listAccounts: listing({
      query: ACCOUNTS,
      from: () => sorted(world.accounts.values(), [keyPart.id], ({ id }) => [id]),
      where: ({ filter }) => accountFilter(filter, ACCOUNTS),
      answer: (accounts) => ({ accounts: withNodes(accounts, balanceOf) }),
    }),

    observeAccounts: stream(streams, {
      subject: "account",
      records: (event) => (event.case === "account" ? [event.value] : []),
      where: ({ marketId, partyId, asset, type }) =>
        accountFilter(
          {
            assetId: queryIdentifier(asset, snapshotQuery()),
            partyIds: partyId === "" ? [] : [queryIdentifier(partyId, snapshotQuery("could not decode party ID: "))],
            marketIds:
              marketId === "" ? [] : [queryIdentifier(marketId, snapshotQuery("could not decode market ID: "))],
            accountTypes: type === 0 ? [] : [type],
          },
          ACCOUNTS,
        ),
      snapshot: (matches) =>
        snapshotPages([...world.accounts.values()].filter(matches)).map(({ records: page, lastPage }) => ({
          response: { case: "snapshot" as const, value: { accounts: page.map(balanceOf), lastPage } },
        })),
      messages: (accounts) => [
        { response: { case: "updates" as const, value: { accounts: accounts.map(balanceOf) } } },
      ],
    }),

    listBalanceChanges: listing({
      check: ({ filter }) => [
        identifiers(filter?.marketIds ?? [], "market"),
        identifiers(filter?.partyIds ?? [], "party"),
      ],
      page({ dateRange, pagination }) {
        const page = readPagination(pagination);
        checkRange(dateRange, page.cursor === undefined, world.block.time);
        return page;
      },
      query: BALANCES,
      from: () => inTime(world.balances),
      where({ filter, dateRange }) {
        const isOfAccount = accountFilter(filter, BALANCES);
        const isWithin = within(dateRange);
        return ({ time, value }) => isWithin(time) && isOfAccount(value);
      },
      answer: (balances) => ({ balances: withNodes(balances, changeOf) }),
    }),

    observeLedgerMovements: stream(streams, {
      subject: "ledgerMovements",
      records: (event) => (event.case === "ledgerMovements" ? event.value.ledgerMovements : []),
      messages: (movements) => movements.map((ledgerMovement) => ({ ledgerMovement })),
    }),

    async getDeposit({ id }) {
      const found = deposits.find(identifier(id, "missing deposit ID", "not a valid vega id"));
      return { deposit: requireFound(found, DEPOSIT.message).value };
    },

    listDeposits: listing({
      query: DEPOSIT,
      from: () => inTime(deposits),
      where({ partyId, dateRange }) {
        const party = askedParty(partyId);
        const isWithin = within(dateRange);
        return ({ time, value }) => isWanted(party, value.partyId) && isWithin(time);
      },
      answer: (page) => ({ deposits: withNodes(page, ({ value }) => value) }),
    }),

    async getWithdrawal({ id }) {
      const found = records.withdrawal.latest.get(identifier(id, "missing withdrawal ID", "invalid withdrawal ID"));
      return { withdrawal: requireFound(found, WITHDRAWAL.message).value };
    },

    listWithdrawals: listing({
      check: ({ partyId }) => askedParty(partyId),
      query: WITHDRAWAL,
      from: () => byBlock(records.withdrawal),
      where({ partyId, dateRange }) {
        const party = askedParty(partyId);
        const isWithin = within(dateRange);
        return (withdrawal) => isWanted(party, withdrawal.partyId) && isWithin(withdrawal.createdTimestamp);
      },
      answer: (withdrawals) => ({ withdrawals }),
    }),
  };
}

function askedParty(partyId: string): string | undefined {
  return partyId === "" ? undefined : identifier(partyId, "invalid party id", "invalid party id");
}

function accountFilter(filter: Partial<AccountFilter> | undefined, query: Query): (account: Account) => boolean {
  const { assetId = "", partyIds = [], marketIds = [], accountTypes = [] } = filter ?? {};
  const isOfAsset = oneOf(assetId === "" ? [] : [queryIdentifier(assetId, query)]);
  const isOfParty = identifiers(partyIds, "party");
  const isOnMarket = identifiers(marketIds, "market");
  const isOfType = oneOf(accountTypes);
  return ({ asset, owner, marketId, type }) =>
    isOfAsset(asset) && isOfParty(owner) && isOnMarket(marketId) && isOfType(type);
}

function balanceOf({ owner, balance, asset, marketId, type }: Account): MessageInitShape<typeof AccountBalanceSchema> {
  return { owner, balance, asset, marketId, type };
}

/** Validates a date range: at most a year. If its end is not set, the time of the last block counts. */
function checkRange(range: DateRange | undefined, isRequired: boolean, now: bigint): void {
  const { startTimestamp: start, endTimestamp: end } = range ?? {};
  const fail = (reason: string) => invalidArgument("invalid date range", reason);
  if (start === undefined && end === undefined) {
    if (isRequired) {
      throw fail("date range is required");
    }
    return;
  }
  if ((start ?? MINIMUM_DATE) < MINIMUM_DATE || (end ?? MINIMUM_DATE) < MINIMUM_DATE) {
    throw fail("date range start must be after 2020-01-01");
  }
  if (start !== undefined && end !== undefined && start > end) {
    throw fail("date range start must be before end");
  }
  if ((end ?? now) - (start ?? MINIMUM_DATE) > YEAR) {
    throw fail("date range is too long");
  }
}

function changeOf({ time, value }: Timed<Account>): MessageInitShape<typeof AggregatedBalanceSchema> {
  const { balance, owner, asset, marketId, type } = value;
  return { timestamp: time, balance, partyId: owner, assetId: asset, marketId, accountType: type };
}
