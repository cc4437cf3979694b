/**
 * A program that calls a server on each way, with a token, and prints how each call ended, as JSON lines: `PORT CA_FILE PROXY...`.
 * Without `CA_FILE`, the authorities are the system's. Only a proxy knows the server's name, `node.invalid`.
 */

import { TradewireError } from "tradewire";
import { ways } from "./ways.js";

const [, , port = "", caFile = "", ...proxies] = process.argv;
const paths = [
  { url: `https://127.0.0.1:${port}` },
  ...proxies.map((proxy) => ({ url: `https://node.invalid:${port}`, proxy })),
];
const ends = ways.flatMap((way) =>
  paths.map(async ({ url, ...more }, path) => {
    await using client = way.connect(url, {
      ...more,
      headers: { authorization: "Bearer a-secret" },
      ...(caFile !== "" && { tls: { caFile } }),
    });
    const ended = await way.call(client).then(
      () => "succeeded",
      (reason: unknown) => (reason instanceof TradewireError ? reason.errorCode : String(reason)),
    );
    return { way: way.name, path, ended };
  }),
);
for (const end of await Promise.all(ends)) {
  console.log(JSON.stringify(end));
}
