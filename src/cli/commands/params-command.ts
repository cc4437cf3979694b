import { type NetworkParameter, NetworkParameterSchema } from "../../../gen/client/vega/vega_pb.js";
import { Code } from "../../base/errors/code.js";
import { closestName } from "../../base/errors/error-text.js";
import { RequestError, TradewireError } from "../../base/errors/index.js";
import type { Client } from "../../index.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { defineCommand, type OptionValues } from "../declarations.js";
import { type ListingType, listingOptions, printListing } from "../listing.js";
import type { CommandContext } from "../output.js";
import { parsePattern } from "../parsers.js";

const networkParameters: ListingType<typeof NetworkParameterSchema> = {
  desc: NetworkParameterSchema,
  name: "networkParameters",
  header: ["key", "value"],
};

const paramsOptions = { ...listingOptions, ...clientOptions };

/** Defines the command `params`. */
export const addParams = defineCommand(
  paramsOptions,
  async (keys: string[], options: OptionValues<typeof paramsOptions>, context: CommandContext) => {
    await using client = commandClient(options, context);
    await printListing(matchingParameters(client, keys, context.signal), networkParameters, options, context);
  },
);

async function unknownParameter(client: Client, key: string, signal: AbortSignal): Promise<RequestError> {
  const keys: string[] = [];
  for await (const { node } of client.networkParameters({ newestFirst: false, signal })) {
    keys.push(node.key);
  }
  const near = closestName(key, keys);
  return new RequestError(`the network has no parameter ${JSON.stringify(key)}`, {
    advice: `${near === undefined ? "" : `Did you mean ${near}? `}\`tradewire params\` lists all.`,
  });
}

async function* matchingParameters(
  client: Client,
  keys: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<NetworkParameter> {
  if (keys.length > 0 && keys.every((key) => !/[*?]/.test(key))) {
    for (const key of keys) {
      yield await client.networkParameter(key, { signal }).catch(async (reason: unknown) => {
        throw reason instanceof TradewireError && reason.code === Code.NotFound
          ? await unknownParameter(client, key, signal)
          : reason;
      });
    }
    return;
  }
  const patterns = keys.map((key) => parsePattern(key));
  // The node orders parameters by key: oldest first means ascending.
  for await (const { node } of client.networkParameters({ newestFirst: false, signal })) {
    if (keys.length === 0 || patterns.some((pattern) => pattern.test(node.key))) {
      yield node;
    }
  }
}
