import { type Client, createClient } from "../client.js";
import { type ClientOptions, clientConfig } from "./client-options.js";
import { printable, type Streams } from "./output.js";

/**
 * A client as the command's options have it. Where it goes on over another transport, it says so in one line.
 *
 * @throws {@link RequestError} where the configuration is wrong
 */
export function commandClient(options: ClientOptions, { err }: Streams): Client {
  return createClient(clientConfig(options), {
    hooks: {
      onFallback: ({ from, to, error }) => {
        err.write(`tradewire: ${from}: ${printable(error.summary)}; going on over ${to}\n`);
      },
    },
  });
}
