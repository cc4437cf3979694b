import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Systems give ports above these to servers and connections that ask for any: 32768 and up, by default. */
const [FIRST, LAST] = [20_000, 29_999];

/** The ports that were given to tests, which may not listen yet. */
const found = new Set();

export async function freePort() {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1);
    if (found.has(port)) {
      continue;
    }
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (isFree) {
      server.close();
      await once(server, "close");
      found.add(port);
      return port;
    }
  }
}
