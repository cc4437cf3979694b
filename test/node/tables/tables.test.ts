import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { schemaVersions, type TableName, tableNames } from "tradewire";
import { blockRows, compareText, csvHeader, csvRow, generateHistory, type Row, sortKeyOf } from "./inside.js";
import { openPostgres, type Postgres } from "./postgres.js";

let postgres: Postgres;
beforeAll(async () => {
  postgres = await openPostgres();
});
afterAll(() => postgres.close());

const madeUp = generateHistory({ blocks: 90 });

/** The rows of all blocks, in the order of the primary key. */
function rowsOfHistory(table: TableName): Row[] {
  const rows = Array.from({ length: 90 }, (_, index) => madeUp.events(table, BigInt(index + 1))).flatMap((block) =>
    blockRows(table, block),
  );
  const place = sortKeyOf(table);
  return place === undefined ? rows : rows.sort((a, b) => compareText(place(a), place(b)));
}

const changes = tableNames.flatMap((table) => schemaVersions(table).map((version) => [table, version] as const));

describe("the rows of the history", () => {
  it.each(changes)("are those that PostgreSQL writes of %s at version %d, byte for byte", async (table, version) => {
    const csv = rowsOfHistory(table).map(csvRow(table, version)).join("");
    expect(await postgres.roundTrip(table, version, csv)).toBe(csv);
    expect(csv.length).toBeGreaterThan(90 * 30);
  });

  it("are these, of the first block", () => {
    const lines = (table: TableName) => blockRows(table, madeUp.events(table, 1n)).map(csvRow(table, 116));
    expect(lines("blocks")).toMatchInlineSnapshot(`
[
  "2023-10-19 08:00:01.007919+00,1,\\x12304875c9eb73df29899120424014736626191065502a5948e0847498a1d877
",
]
`);
    expect(lines("trades")).toMatchInlineSnapshot(`
[
  "2023-10-19 08:00:01.007924+00,\\x1a30c2cd0409b45f55e33f917fba2851b7e012ccb54f6ddf51190b884e658713,2023-10-19 08:00:01.007919+00,5,\\x5b5177e19cd75802fa69c7011192e53d2cf92b15f3c3624a23b8000000000000,\\x6e0e17a2b1d6dd1d9432e835a41c1b654f7a299b6f3099fee0c46b57e8dd1b93,2674729,230,\\x9acf24154f0d012249ee7b6a9fbec16a191eb14e2c8b5cd31e8739f3d46b5096,\\x3b7b16c0d6a357a0f6e70641e94244e74ab2795d88d43014b5ccf96154f16640,2,\\x989d1381ba74f145e808d0324f1647a6bd127f7c640539fbd352000000000000,\\xbdec71cfca9f7020bd881c48da864b9e71e17eb284c87b610291000000000001,1,0,0,0,148,148,648,1,1,0,0,0,0,0,0,4,3,4,58,48,18,0,0,0,58,8,8
",
  "2023-10-19 08:00:01.007925+00,\\xd53d34af7d0203ec897b88c07423941a0b04bb4d51f48b4ca713b05305358742,2023-10-19 08:00:01.007919+00,6,\\x4462ced91d314a99e3cd1b067c8389bfa9454709b0f6f2a966b0000000000001,\\x6e0e17a2b1d6dd1d9432e835a41c1b654f7a299b6f3099fee0c46b57e8dd1b93,2682648,149,\\x9acf24154f0d012249ee7b6a9fbec16a191eb14e2c8b5cd31e8739f3d46b5096,\\x3b7b16c0d6a357a0f6e70641e94244e74ab2795d88d43014b5ccf96154f16640,2,\\x989d1381ba74f145e808d0324f1647a6bd127f7c640539fbd352000000000000,\\xbdec71cfca9f7020bd881c48da864b9e71e17eb284c87b610291000000000001,1,0,0,0,867,67,167,1,1,0,0,0,0,0,0,3,2,6,57,17,27,0,0,0,57,7,7
",
]
`);
    expect(lines("orders")).toMatchInlineSnapshot(`
[
  "\\x989d1381ba74f145e808d0324f1647a6bd127f7c640539fbd352000000000000,\\x6e0e17a2b1d6dd1d9432e835a41c1b654f7a299b6f3099fee0c46b57e8dd1b93,\\x9acf24154f0d012249ee7b6a9fbec16a191eb14e2c8b5cd31e8739f3d46b5096,1,2682648,379,0,2,1,5,hedge,,1,1,,,,2023-10-19 08:00:01.007919+00,2023-10-19 08:00:01.007919+00,2023-10-19 09:00:01.007919+00,\\x4af9a4dcbf43bcf6f3b8bce05afc96257ab7ab67f1d84e12f2bbd1c1a5882814,2023-10-19 08:00:01.007919+00,2,t,f,0,10,1
",
  "\\xbdec71cfca9f7020bd881c48da864b9e71e17eb284c87b610291000000000001,\\x6e0e17a2b1d6dd1d9432e835a41c1b654f7a299b6f3099fee0c46b57e8dd1b93,\\x3b7b16c0d6a357a0f6e70641e94244e74ab2795d88d43014b5ccf96154f16640,2,0,379,0,3,2,5,"buy low, sell high",,2,1,,,,2023-10-19 08:00:01.007919+00,,,\\xa2a7ae366dc3161e7d7c82fbdb838cfc205248c3100862a277ab69a97b20e21f,2023-10-19 08:00:01.007919+00,3,f,f,,,
",
  "\\x45fe686eff0b0484de5bdb7ac5f8229b995ffdec90b9dd68bb2f000000000002,\\x6e0e17a2b1d6dd1d9432e835a41c1b654f7a299b6f3099fee0c46b57e8dd1b93,\\xda5d45cda760fe45f313f2459b98b8b9f3064dae4dd19f919c7d121ce23a57cd,2,2676729,230,230,1,1,3,"the ""safe"" side",,3,1,,,\\x938c93398edba44592764ffdedf36e1f0a177bf680142aeaf98a000000000000,2023-10-19 08:00:01.007919+00,,,\\x6b48c060130d02a908e260c969d76d5454b41c1632a58cbc66a05c032612c70a,2023-10-19 08:00:01.007919+00,4,f,f,,,
",
]
`);
    expect(lines("liquidity_provisions")).toMatchInlineSnapshot(`
[
  "\\x938c93398edba44592764ffdedf36e1f0a177bf680142aeaf98a000000000000,\\x9acf24154f0d012249ee7b6a9fbec16a191eb14e2c8b5cd31e8739f3d46b5096,2023-10-19 08:00:01.007919+00,2023-10-19 08:00:01.007919+00,\\x6e0e17a2b1d6dd1d9432e835a41c1b654f7a299b6f3099fee0c46b57e8dd1b93,1104729,0.0060000000000000,[],"[{""liquidityOrder"": {""offset"": ""0"", ""reference"": ""PEGGED_REFERENCE_BEST_BID""}}]",1,STATUS_PENDING,"the ""safe"" side",\\x848794c75b60505cf3dc5d17d820d350985c2c711b244ec762d246e6ed20a67f,2023-10-19 08:00:01.007919+00
",
]
`);
    expect(lines("balances")).toMatchInlineSnapshot(`
[
  "\\x609e436f503184fd035c20c18b27126e0bbe134c167ae2e1f416386e1e084678,2023-10-19 08:00:01.007919+00,\\xc018b43fe2a96e8b763d60e9b64335b2de6715106818b190a525eed324c96fc5,104730000000000000
",
  "\\x771a6a2eb9d0f05127d88ef81412aa979ed6b72b6fd4caa190dfb1db77aabb64,2023-10-19 08:00:01.007919+00,\\x12dbcff0be4d2e1bdc825562d4f2079228b8a2d3b015d371815c2a4bdc2cfe37,112649000000000000
",
]
`);
  });

  it("have every kind of text that CSV has a rule for", () => {
    const csv = rowsOfHistory("orders").map(csvRow("orders", 116)).join("");
    for (const field of [
      "hedge",
      '""',
      "",
      '"buy low, sell high"',
      '"the ""safe"" side"',
      '"first line\nsecond line"',
      '"first line\r\nsecond line"',
      '"first line\rsecond line"',
      '"all at once: "",\r\n"""',
      '""""',
      "\\.",
      "  two spaces at both ends  ",
      "注文番号、第一",
      "🚀 to the moon 🦊",
      "طلب شراء رقم",
      "NULL",
      "\\N\ttab",
    ]) {
      expect(csv).toContain(`,${field},`);
    }
  });
});

describe("the header row", () => {
  it("names the columns of its version, in their order", () => {
    expect(csvHeader("balances", 1)).toBe("account_id,vega_time,tx_hash,balance\n");
    expect(csvHeader("orders", 5)).toMatch(/,reduce_only,reserved_remaining,initial_peak_size,minimum_peak_size\n$/);
    expect(csvHeader("orders", 6)).toMatch(/,reduce_only,reserved_remaining,peak_size,minimum_visible_size\n$/);
    expect(csvHeader("trades", 115)).toMatch(/,seller_liquidity_fee_volume_discount\n$/);
    expect(csvHeader("trades", 116)).toMatch(/,seller_high_volume_maker_fee\n$/);
  });
});
