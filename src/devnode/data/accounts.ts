import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { PGlite } from "@electric-sql/pglite";
import type {
  AccountBalanceSchema,
  AccountFilter,
  TradingDataService,
} from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { AccountTypeSchema } from "../../../gen/vega/vega_pb.js";
import { type Conditions, createConditions, identifier } from "./conditions.js";
import { enumNames } from "./enum-names.js";
import { readSnapshot, type Watch } from "./observe.js";
import { idKey, type Listing, readPage } from "./page.js";
import { type Row, readRow } from "./row.js";

const accounts: Listing = { from: ["account"], key: [idKey] };

/**
 * Implement the methods for accounts.
 *
 * @param pg the database that holds the table
 * @param watch keeps streams open
 * @returns the methods of the data service that list and stream accounts
 */
export function accountMethods(
  pg: PGlite,
  watch: Watch,
): Pick<ServiceImpl<typeof TradingDataService>, "listAccounts" | "observeAccounts"> {
  return {
    async listAccounts({ filter, pagination }) {
      return { accounts: await readPage(pg, accounts, pagination, balanceOf, accountConditions(filter ?? {})) };
    },

    async *observeAccounts({ marketId, partyId, asset, type }, { signal }) {
      const filter = {
        assetId: asset,
        partyIds: partyId === "" ? [] : [partyId],
        marketIds: marketId === "" ? [] : [marketId],
        accountTypes: type === 0 ? [] : [type],
      };
      for await (const { rows, lastPage } of readSnapshot(pg, accounts.from, accountConditions(filter))) {
        yield { response: { case: "snapshot", value: { accounts: rows.map(balanceOf), lastPage } } };
      }
      yield* watch("account", signal); // No command that the local node carries out changes a balance.
    },
  };
}

/**
 * Translate a filter of accounts into conditions.
 *
 * @param filter the filter
 * @returns SQL conditions and their parameters
 * @throws ConnectError with `InvalidArgument` if an identifier is malformed
 */
export function accountConditions(filter: Partial<AccountFilter>): Conditions {
  const { assetId = "", partyIds = [], marketIds = [], accountTypes = [] } = filter;
  const { oneOf, build } = createConditions();
  const checked = (id: string) => identifier(id, "filter");
  oneOf("asset_id", "text", assetId === "" ? [] : [checked(assetId)]);
  oneOf("owner", "text", partyIds.map(checked));
  oneOf("market_id", "text", marketIds.map(checked));
  oneOf("kind", "text", enumNames(AccountTypeSchema, accountTypes));
  return build();
}

function balanceOf(row: Row): MessageInitShape<typeof AccountBalanceSchema> {
  const { text, enumeration } = readRow(row);
  return {
    owner: text("owner"),
    balance: text("balance"),
    asset: text("asset_id"),
    marketId: text("market_id"),
    type: enumeration(AccountTypeSchema, "kind"),
  };
}
