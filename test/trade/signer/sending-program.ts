// Sends orders with a key that other programs use too: `URL SIGNER COUNT`. The signer is the path of a socket, or of a key
// file. It prints a line for each order: `sent`, or the error. Orders whose signature failed are sent again.
import { setTimeout } from "node:timers/promises";
import { ConnectionError, connectSigner, createClient, signerFromKeyFile, TradewireError } from "tradewire";
import { restingOrder } from "../../support/transactions.js";

const [url = "", path = "", count = ""] = process.argv.slice(2);
const signer = path.endsWith(".sock") ? await connectSigner(path) : await signerFromKeyFile(path);
await using client = createClient({ grpc: { url } });

async function send(): Promise<void> {
  for (;;) {
    try {
      await client.sendCommand(restingOrder, { signer });
      process.stdout.write("sent\n");
      return;
    } catch (reason) {
      const text = reason instanceof TradewireError ? `${reason.summary} ${reason.advice}` : String(reason);
      process.stdout.write(`${text}\n`);
      if (!(reason instanceof ConnectionError) || reason.connected) {
        throw reason;
      }
      await setTimeout(50);
    }
  }
}

await Promise.all(Array.from({ length: Number(count) }, send));
