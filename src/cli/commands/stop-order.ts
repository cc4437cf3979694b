import type { DescField } from "@bufbuild/protobuf";
import type { Command } from "commander";
import { StopOrderEventSchema } from "../../../gen/client/vega/events/v1/events_pb.js";
import { messageToJson } from "../../json/message.js";
import { commandClient } from "../client.js";
import { type ClientOptions, clientOptions } from "../client-options.js";
import { leaves, pathText, shortName, textAt } from "../listing.js";
import { type CommandContext, json, printable } from "../output.js";
import { printTable } from "../terminal.js";
import { isoTime } from "../time.js";

/**
 * Add the command `stop-order`, which shows every field of a stop order that is set (specification, 2.4).
 *
 * @param command the command `stop-order`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addStopOrder(command: Command, context: CommandContext): void {
  const { out, signal } = context;
  command.argument("<id>", "identifier of the stop order").option("--json", "print one JSON object");
  for (const option of clientOptions()) {
    command.addOption(option);
  }
  command.action(async (id: string, options: ClientOptions & { readonly json?: boolean }) => {
    await using client = commandClient(options, context);
    const order = messageToJson(StopOrderEventSchema, await client.stopOrder(id, { signal }));
    if (options.json === true) {
      out.write(json(order));
      return;
    }
    // The fields of the stop order come first, then those of the order that it submits when it triggers.
    const paths = leaves(StopOrderEventSchema).toSorted(([a], [b]) => (b?.number ?? 0) - (a?.number ?? 0));
    const rows = paths.flatMap((path) => {
      const text = textAt(order, path);
      return text === null ? [] : [[pathText(path), printable(readable(path.at(-1), text))]];
    });
    printTable(["field", "value"], rows, context);
  });
}

/** Shorten enum values by their prefix, and format the fields whose names end in `At` as times unless they are 0. */
function readable(field: DescField | undefined, text: string): string {
  if (field?.enum !== undefined) {
    return shortName(field.enum, text);
  }
  return field?.jsonName.endsWith("At") === true && text !== "0" ? isoTime(BigInt(text)) : text;
}
