import { expect, test } from "@jest/globals";
import { createClient, Table, type TypedRecord, type TypedRow } from "tradewire";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type RowOf<Rows extends AsyncIterable<unknown>> = Rows extends AsyncIterable<infer Row> ? Row : never;

const blocks = (known: Equal<TypedRow<"blocks">, { vega_time: string; height: bigint; hash: string }>) => known;

test("the types of typed rows follow the tables", async () => {
  await using client = createClient({ grpc: { url: "http://127.0.0.1:1" } });
  const range = { fromBlock: 1, toBlock: 1000 };
  const named = client.exportNetworkHistory({ table: "blocks", ...range }).rows({ typed: true });
  const numbered = client.exportNetworkHistory({ table: Table.BLOCKS, ...range }).rows({ typed: true });
  const plain = client.exportNetworkHistory({ table: "blocks", ...range }).rows();
  const checks: [
    Equal<RowOf<typeof named>, TypedRow<"blocks">>,
    Equal<RowOf<typeof numbered>, TypedRecord>,
    Equal<RowOf<typeof plain>, Record<string, string | null>>,
    Equal<TypedRow<"orders">["peak_size"], bigint | null | undefined>,
    Equal<TypedRow<"orders">["initial_peak_size"], bigint | null | undefined>,
    Equal<TypedRow<"trades">["aggressor"], "SIDE_UNSPECIFIED" | "SIDE_BUY" | "SIDE_SELL" | bigint | null>,
    Equal<TypedRow<"markets">["enable_tx_reordering"], boolean | null | undefined>,
    Equal<TypedRow<"rewards">["percent_of_total"], number | null>,
    Equal<TypedRow<"withdrawals">["amount"], string | null>,
    Equal<TypedRow, TypedRecord>,
  ] = [true, true, true, true, true, true, true, true, true, true];
  expect([...checks, blocks(true)]).not.toContain(false); // The compiler has checked them: `npm run check`.
});
