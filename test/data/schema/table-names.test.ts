import { describe, expect, it } from "@jest/globals";
import { tableNames } from "tradewire";
import { Table } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { isTableName, tableName } from "../../../src/data/schema/table-names.js";

describe("table names", () => {
  it("are those of the enumeration, without the one that is no table", () => {
    expect(tableNames).toEqual([
      "balances",
      "checkpoints",
      "delegations",
      "ledger",
      "orders",
      "trades",
      "market_data",
      "margin_levels",
      "positions",
      "liquidity_provisions",
      "markets",
      "deposits",
      "withdrawals",
      "blocks",
      "rewards",
    ]);
    expect(tableName(Table.MARGIN_LEVELS)).toBe("margin_levels");
    expect(tableName(Table.UNSPECIFIED)).toBeUndefined();
  });

  it("are told from other texts", () => {
    expect(isTableName("market_data")).toBe(true);
    for (const text of ["unspecified", "Trades", "1", "", "toString", "constructor"]) {
      expect(isTableName(text)).toBe(false);
    }
  });
});
