// What the long life sends: commands of which each part names itself by its reference.

/** A market that trades continuously. */
export const MARKET = "6e0e17a2b1d6dd1d9432e835a41c1b654f7a299b6f3099fee0c46b57e8dd1b93";
const NO_MARKET = "ab".repeat(32);
const [BUY, SELL, LIMIT, MARKET_ORDER, GTC, IOC] = [1, 2, 1, 2, 1, 3];

/** Make a command. */
export function commandOf(index, reference) {
  const order = (name, given) => ({
    ...{ marketId: MARKET, size: BigInt(1 + (index % 5)), side: BUY, timeInForce: IOC, type: LIMIT, price: "1" },
    ...{ reference: name, ...given },
  });
  const [one, other] = [`${reference}-a`, `${reference}-b`];
  const made = (name, value, references = [one]) => ({
    command: { case: name, value },
    references,
    mayFail: references.length > 1 || value.marketId === NO_MARKET,
  });
  switch (index % 8) {
    case 1:
      return made("orderSubmission", order(one, { marketId: NO_MARKET }));
    case 3: {
      const submissions = [order(one), order(other, { marketId: NO_MARKET })];
      return made("batchMarketInstructions", { submissions }, [one, other]);
    }
    case 5: {
      const shared = { side: SELL, type: MARKET_ORDER, price: "", reduceOnly: true };
      const stop = (name, price) => ({
        orderSubmission: order(name, shared),
        trigger: { case: "price", value: price },
      });
      return made("stopOrdersSubmission", { risesAbove: stop(one, "900000000"), fallsBelow: stop(other, "1") }, [
        one,
        other,
      ]);
    }
    case 6:
      return made("orderSubmission", order(one, { timeInForce: GTC }));
    case 7:
      return made("orderSubmission", order(one, { type: MARKET_ORDER, price: "" }));
    default:
      return made("orderSubmission", order(one));
  }
}

/** List the references in a command that a node has. */
export function referencesIn({ case: name, value }) {
  switch (name) {
    case "orderSubmission":
      return [value.reference];
    case "batchMarketInstructions":
      return value.submissions.map(({ reference }) => reference);
    case "stopOrdersSubmission":
      return [value.risesAbove, value.fallsBelow].flatMap((half) => half?.orderSubmission?.reference ?? []);
    default:
      return [];
  }
}
