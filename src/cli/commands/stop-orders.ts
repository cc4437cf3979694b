import type { DescEnum } from "@bufbuild/protobuf";
import { type Command, Option } from "commander";
import { StopOrderEventSchema } from "../../../gen/client/vega/events/v1/events_pb.js";
import {
  Order_TimeInForceSchema,
  Order_TypeSchema,
  SideSchema,
  type StopOrder,
  StopOrder_ExpiryStrategySchema,
  StopOrder_StatusSchema,
  StopOrder_TriggerDirectionSchema,
} from "../../../gen/client/vega/vega_pb.js";
import { enumNumber } from "../../given/enum-number.js";
import { enumName } from "../../json/enums.js";
import { commandClient } from "../client.js";
import { type ClientOptions, clientOptions } from "../client-options.js";
import { type Listed, type ListingOptions, listingOptions, mostRecords, printListing, shortName } from "../listing.js";
import type { CommandContext } from "../output.js";
import { isoTime, parseTime } from "../time.js";

interface StopOrdersOptions extends ClientOptions, ListingOptions {
  readonly status?: readonly number[];
  readonly expiryStrategy?: readonly number[];
  readonly party?: readonly string[];
  readonly market?: readonly string[];
  readonly from?: bigint;
  readonly to?: bigint;
  readonly live?: boolean;
  readonly wide?: boolean;
}

/**
 * Add the command `stop-orders` (specification, 4.4).
 *
 * @param command the command `stop-orders`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addStopOrders(command: Command, context: CommandContext): void {
  command
    .addOption(enumOption("--status <status>", StopOrder_StatusSchema))
    .addOption(enumOption("--expiry-strategy <strategy>", StopOrder_ExpiryStrategySchema))
    .addOption(repeated("--party <id>", "only of this party; may be repeated", (text) => text))
    .addOption(repeated("--market <id>", "only on this market; may be repeated", (text) => text))
    .addOption(new Option("--from <time>", "only from this time on: ISO 8601 or Unix nanoseconds").argParser(parseTime))
    .addOption(new Option("--to <time>", "only before this time").argParser(parseTime))
    .option("--live", "only live ones")
    .option("--wide", "print identifiers in full");
  for (const option of [...listingOptions(), ...clientOptions()]) {
    command.addOption(option);
  }
  command.action((options: StopOrdersOptions) => runStopOrders(options, context));
}

async function runStopOrders(options: StopOrdersOptions, context: CommandContext): Promise<void> {
  await using client = commandClient(options, context);
  const { status, expiryStrategy, party, market, from, to, live } = options;
  const filter = {
    statuses: status,
    expiryStrategies: expiryStrategy,
    partyIds: party,
    marketIds: market,
    dateRange: from === undefined && to === undefined ? undefined : { startTimestamp: from, endTimestamp: to },
    liveOnly: live,
  };
  const records = client.stopOrders({ filter, limit: mostRecords(options, context), signal: context.signal });
  async function* nodes() {
    for await (const { node } of records) {
      yield node;
    }
  }
  await printListing(nodes(), stopOrders(options.wide === true), options, context);
}

function stopOrders(wide: boolean): Listed<typeof StopOrderEventSchema> {
  const id = (text: string) => (wide || text.length <= 12 ? text : `${text.slice(0, 8)}…`);
  const time = (value: bigint | undefined) => (value === undefined ? "" : isoTime(value));
  return {
    desc: StopOrderEventSchema,
    name: "orders",
    header: "id status trigger side size price type tif expires at_expiry created updated party market".split(" "),
    ranked: "id status trigger side size price created type expires party market tif at_expiry updated".split(" "),
    advice: "--json and --format print all; --wide prints identifiers in full.",
    cells({ stopOrder: order, submission }) {
      if (order === undefined) {
        return [];
      }
      return [
        id(order.id),
        named(StopOrder_StatusSchema, order.status),
        triggerText(order),
        submission === undefined ? "" : named(SideSchema, submission.side),
        submission === undefined ? "" : String(submission.size),
        submission?.price ?? "",
        submission === undefined ? "" : named(Order_TypeSchema, submission.type),
        submission === undefined ? "" : named(Order_TimeInForceSchema, submission.timeInForce),
        time(order.expiresAt),
        order.expiryStrategy === undefined ? "" : named(StopOrder_ExpiryStrategySchema, order.expiryStrategy),
        time(order.createdAt),
        time(order.updatedAt),
        id(order.partyId),
        id(order.marketId),
      ];
    },
  };
}

function triggerText({ trigger, triggerDirection }: StopOrder): string {
  const direction = named(StopOrder_TriggerDirectionSchema, triggerDirection);
  return trigger.case === "trailingPercentOffset"
    ? `${direction} trailing ${trigger.value}`
    : `${direction} ${trigger.value ?? ""}`;
}

function named(desc: DescEnum, value: number): string {
  return shortName(desc, enumName(desc, value));
}

function enumOption(flags: string, desc: DescEnum): Option {
  const names = desc.values.map(({ localName }) => localName).join(", ");
  const [name = ""] = flags.split(" ");
  return repeated(flags, `only with this: ${names}; may be repeated`, (text) =>
    enumNumber(desc, text.toUpperCase(), name),
  );
}

function repeated<T>(flags: string, description: string, read: (text: string) => T): Option {
  return new Option(flags, description).argParser<T[]>((text, before = []) => [...before, read(text)]);
}
