import { type Client, formatDecimal, type MarketUnits, type Units } from "tradewire";

/** Is never run: the compiler holds these to their types. */
export async function heldByCompiler(client: Client, units: MarketUnits): Promise<void> {
  for await (const order of client.orders({ statuses: ["ACTIVE", "STATUS_PARKED"], live: true })) {
    const { price, size, remaining, icebergOrder, decimals } = order;
    const texts: readonly string[] = [decimals.price, decimals.size, decimals.remaining];
    const text: string | undefined = decimals.icebergOrder?.peakSize ?? decimals.peggedOrder?.offset;
    const hidden: Units<"size"> | undefined = icebergOrder?.reservedRemaining;
    const sum: bigint = size.valueOf() + remaining.valueOf();
    const formatted: string = units.price.format(price) + units.size.format(size) + formatDecimal(price, 5);
    void [texts, text, hidden, sum, formatted, size < remaining, `${price}`];
    // @ts-expect-error A price and a size do not add up.
    void (price + size);
    // @ts-expect-error Two sizes are added as numbers, with valueOf().
    void (size + remaining);
    // @ts-expect-error A price is no number without its unit.
    void (price + 1n);
    // @ts-expect-error A price is not compared with a size.
    void (price < size);
    // @ts-expect-error Nor is it equal to one.
    void (price === size);
    // @ts-expect-error It is not a bigint for the compiler.
    void ((): bigint => price);
    // @ts-expect-error Nor the text of a command.
    void units.order({ price });
    // @ts-expect-error Sizes are not formatted as prices.
    void units.price.format(size);
    // @ts-expect-error Fields without a unit have no decimals.
    void decimals.version;
    // @ts-expect-error There is no such status.
    void client.orders({ statuses: ["OPEN"] });
  }
  for await (const { buyerFee, assetPrice, decimals } of client.trades()) {
    const fee: Units<"asset"> | undefined = buyerFee?.makerFee;
    const left: Units<"asset"> | undefined = assetPrice;
    const text: string | undefined = decimals.buyerFee?.makerFee ?? decimals.assetPrice;
    void [fee, left, text];
  }
  for await (const { stopOrder, submission, decimals } of client.stopOrders()) {
    const price: Units<"price"> | undefined =
      stopOrder.trigger.case === "price" ? stopOrder.trigger.value : submission?.price;
    const text: string | undefined = decimals.stopOrder?.price ?? decimals.submission?.icebergOpts?.peakSize;
    void [price, text];
  }
  for await (const { tickSize, tradableInstrument, decimals } of client.markets({ settled: true })) {
    const price: Units<"price"> | undefined = tickSize;
    const code: string | undefined = tradableInstrument?.instrument?.code;
    const cap: string | undefined = decimals.tradableInstrument?.instrument?.future?.cap?.maxPrice;
    void [price, code, cap];
  }
  for await (const { balance, decimals } of client.accounts()) {
    const amount: Units<"asset"> = balance;
    const text: string = decimals.balance;
    void [amount, text];
  }
  for await (const { openVolume, decimals } of client.positions()) {
    const volume: Units<"size"> = openVolume;
    const text: string = decimals.unrealisedPnl;
    void [volume, text];
  }
}
