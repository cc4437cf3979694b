import type { Command } from "commander";
import { type NetworkParameter, NetworkParameterSchema } from "../../../gen/client/vega/vega_pb.js";
import type { Client } from "../../client/index.js";
import { commandClient } from "../client.js";
import { type ClientOptions, clientOptions } from "../client-options.js";
import { type Listed, type ListingOptions, listingOptions, printListing } from "../listing.js";
import type { CommandContext } from "../output.js";
import { patternOf } from "../pattern.js";

const networkParameters: Listed<typeof NetworkParameterSchema> = {
  desc: NetworkParameterSchema,
  name: "networkParameters",
  header: ["key", "value"],
  cells: ({ key, value }) => [key, value],
};

/**
 * Add the command `params` (specification, 4.3).
 *
 * @param command the command `params`, which is given its arguments, options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addParams(command: Command, context: CommandContext): void {
  command.argument("[key]", "key of one parameter, or a pattern where * stands for any text and ? for any character");
  for (const option of [...listingOptions(), ...clientOptions()]) {
    command.addOption(option);
  }
  command.action(async (key: string | undefined, options: ClientOptions & ListingOptions) => {
    await using client = commandClient(options, context);
    await printListing(matching(client, key, context.signal), networkParameters, options, context);
  });
}

async function* matching(
  client: Client,
  key: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<NetworkParameter> {
  if (key !== undefined && !/[*?]/.test(key)) {
    yield await client.networkParameter(key, { signal });
    return;
  }
  const pattern = key === undefined ? /^/ : patternOf(key);
  // The node orders parameters by key: oldest first means ascending.
  for await (const { node } of client.networkParameters({ newestFirst: false, signal })) {
    if (pattern.test(node.key)) {
      yield node;
    }
  }
}
