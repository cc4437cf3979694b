import { type Client, createClient } from "../client.js";
import { type ClientOptions, clientConfig } from "./client-options.js";
import { printable, type Streams } from "./output.js";

/**
 * Create a client from the command's options. When it falls back to another transport, it reports that in one line.
 *
 * @param options the values of the command-line options
 * @param streams `err` takes the reports
 * @returns the client; the caller closes it
 * @throws {@link RequestError} if the configuration is wrong
 * @throws {@link FileError} if the configuration file or a file of the TLS configuration cannot be read
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
