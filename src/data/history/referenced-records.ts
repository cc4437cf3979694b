import type { AccountBalance } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Asset } from "../../../gen/vega/assets_pb.js";
import type { Market } from "../../../gen/vega/markets_pb.js";
import { type CallOptions, parseCallOptions } from "../../base/input/call-options.js";
import { lazily } from "../../base/input/lazy.js";
import type { ListedRecord, Paging } from "../listing/paging.js";

/** What exported rows refer to by identifiers, and no exported table has. Nothing is sent before records are requested. */
export interface ReferencedRecords {
  /** All markets, also settled ones. */
  readonly markets: AsyncIterable<Market>;
  readonly assets: AsyncIterable<Asset>;
  readonly accounts: AsyncIterable<AccountBalance>;
}

/** Lists what exported rows refer to. */
export interface References {
  /**
   * Lists the markets, assets and accounts of a node, which `syncHistory` stores for its views.
   *
   * @param options a signal, headers, and a time limit for each call
   * @returns the records; nothing is sent before they are requested
   * @throws `RequestError` immediately, if an option is invalid; while iterating, as `records` does
   *
   * @example
   * for await (const { id, details } of client.referencedRecords().assets) console.log(id, details?.symbol);
   */
  referencedRecords(options?: CallOptions): ReferencedRecords;
}

/** The maximum number of records of each kind: more than any network has. */
const LIMIT = 10_000_000;

/** The definitions are large. */
const loadDefinitions = lazily(() => import("../../../gen/datanode/api/v2/trading_data_pb.js"));

export function createReferences(records: Paging["records"]): References {
  return {
    referencedRecords(options = {}) {
      const how = { ...parseCallOptions(options), limit: LIMIT };
      return {
        markets: nodesOf(({ listMarkets }) => records(listMarkets, { includeSettled: true }, how)),
        assets: nodesOf(({ listAssets }) => records(listAssets, {}, how)),
        accounts: nodesOf(({ listAccounts }) => records(listAccounts, {}, how)),
      };
    },
  };
}

type Methods = Awaited<ReturnType<typeof loadDefinitions>>["TradingDataService"]["method"];

function nodesOf<N>(list: (methods: Methods) => AsyncIterable<ListedRecord<N>>): AsyncIterable<N> {
  return {
    async *[Symbol.asyncIterator]() {
      const { TradingDataService } = await loadDefinitions();
      for await (const { node } of list(TradingDataService.method)) {
        yield node;
      }
    },
  };
}
