import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { oneOf } from "./conditions.js";
import type { Streams } from "./observe.js";

/**
 * Implement the method that streams what became of transactions.
 *
 * @param streams keeps streams open
 * @returns the method of the data service; as on deployed nodes, parties and hashes are compared letter by letter
 */
export function transactionResultMethods(
  streams: Streams,
): Pick<ServiceImpl<typeof TradingDataService>, "observeTransactionResults"> {
  return {
    async *observeTransactionResults({ partyIds, hashes, status }, { signal }) {
      const isOfParty = oneOf(partyIds);
      const hasHash = oneOf(hashes);
      yield* streams.watch({
        subject: "transactionResult",
        signal,
        select: (happenings) =>
          happenings
            .flatMap(({ event }) => (event.case === "transactionResult" ? [event.value] : []))
            .filter(
              (result) =>
                isOfParty(result.partyId) && hasHash(result.hash) && (status === undefined || status === result.status),
            ),
        message: (transactionResults) => ({ transactionResults: [...transactionResults] }),
      });
    },
  };
}
