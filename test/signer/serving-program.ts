// Serves a key to other programs until it is stopped: `URL KEY_FILE SOCKET`. It prints a line when it is ready.
import { once } from "node:events";
import { createClient, serveSigner, signerFromKeyFile, withSharedCount } from "tradewire";
import { testGuard } from "../support/served-signer.js";

const [url = "", keyFile = "", listen = ""] = process.argv.slice(2);
const client = createClient({ grpc: { url } });
const { height, chainId } = await client.lastBlockHeight();
await client.close();
const shared = withSharedCount(await signerFromKeyFile(keyFile), { afterBlock: height + 1n });
const server = await serveSigner({ guard: testGuard(shared), chainId, listen });
process.stdout.write("ready\n");
await once(process, "SIGTERM");
await server.close();
