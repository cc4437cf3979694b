import type { DescMessage, JsonValue } from "@bufbuild/protobuf";
import { type Command, Option } from "commander";
import { BusEventSchema } from "../../../gen/vega/events/v1/events_pb.js";
import { messageToJson } from "../../json/message.js";
import { type EventType, readEventType } from "../../live/event-types.js";
import type { Gap, LiveEvent } from "../../live/events.js";
import { commandClient } from "../client.js";
import { type ClientOptions, clientOptions } from "../client-options.js";
import { eventLine } from "../event-line.js";
import { type CommandContext, json, writeOut } from "../output.js";
import { countFromOne } from "../whole-number.js";

interface EventsCommandOptions extends ClientOptions {
  readonly type?: readonly EventType[];
  readonly party?: string;
  readonly market?: string;
  readonly lifecycle?: boolean;
  readonly format?: "table" | "jsonl";
  readonly wide?: boolean;
  readonly limit?: number;
  readonly reconnect: boolean;
}

/**
 * Add the command `events`.
 *
 * @param command the command `events`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addEvents(command: Command, context: CommandContext): void {
  command
    .addOption(
      new Option(
        "--type <type>",
        "only events of this type, such as order, trade, transactionResult; may be repeated",
      ).argParser((text, before: readonly EventType[] = []) => [...before, readEventType(text, "--type")]),
    )
    .option("--party <id>", "only of this party")
    .option("--market <id>", "only on this market")
    .option("--lifecycle", "with --type order: also print cancelled and expired orders as events of the type order")
    .addOption(
      new Option("--format <format>", "a line for a person, or a JSON object a line; by default as it is read").choices(
        ["table", "jsonl"],
      ),
    )
    .option("--wide", "print identifiers in full")
    .addOption(new Option("--limit <count>", "end after so many events").argParser(countFromOne))
    .option("--no-reconnect", "end with an error where the connection is lost")
    .option("--chain-id <id>", "the chain that events must be of");
  for (const option of clientOptions()) {
    command.addOption(option);
  }
  command.action((options: EventsCommandOptions) => runEvents(options, context));
}

async function runEvents(options: EventsCommandOptions, context: CommandContext): Promise<void> {
  const { type: types, party: partyId, market: marketId, limit = Number.POSITIVE_INFINITY, reconnect } = options;
  const lifecycle = options.lifecycle === true;
  const format = options.format ?? (context.out.isTTY === true ? "table" : "jsonl");
  if (format === "table" && !lifecycle && types !== undefined && missesEnds(types)) {
    context.notes.write("tradewire: the type order misses cancellations and expiries; --lifecycle adds them\n");
  }
  // Someone who waits for events is told when a connection is lost.
  await using client = commandClient(options, context, { reported: reconnect ? "waits" : "fallbacks" });
  const { signal } = context;
  let left = limit;
  for await (const item of client.events({ types, partyId, marketId, lifecycle }, { signal, reconnect })) {
    if ("gap" in item) {
      context.notes.write(`tradewire: ${gapText(item)}\n`);
      if (format === "jsonl") {
        await writeOut(context, json(gapJson(item)));
      }
      continue;
    }
    const desc = valueDesc(item);
    const text = format === "table" ? eventLine(item, desc, options.wide === true) : json(eventJson(item, desc));
    await writeOut(context, text);
    left -= 1;
    if (left <= 0) {
      break;
    }
  }
}

/** Whether orders are asked for, and not both types by which the node reports cancelled and expired ones. */
function missesEnds(types: readonly EventType[]): boolean {
  return types.includes("order") && !(types.includes("cancelledOrders") && types.includes("expiredOrders"));
}

/** The type of an event's value. */
function valueDesc({ case: type }: LiveEvent): DescMessage {
  const field = type === "unknown" ? undefined : BusEventSchema.field[type];
  return field?.message ?? BusEventSchema;
}

function eventJson({ value, ...event }: LiveEvent, desc: DescMessage): object {
  return { ...event, value: messageToJson(desc, value) };
}

function gapJson({ gap: { afterBlock, beforeBlock } }: Gap): JsonValue {
  return {
    gap: { afterBlock: afterBlock === undefined ? null : String(afterBlock), beforeBlock: String(beforeBlock) },
  };
}

function gapText({ gap: { afterBlock, beforeBlock } }: Gap): string {
  const after = afterBlock === undefined ? "" : `after ${afterBlock} and `;
  return `events of blocks ${after}before ${beforeBlock} may be missing: the connection was lost`;
}
