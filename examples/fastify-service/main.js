// @ts-check
// A service that hands out what a node knows: rows of history as they come, stop orders, and whether it is ready:
//   TRADEWIRE_GRPC_URL=https://node.example:3007 PORT=8080 node main.js
// With an SDK of OpenTelemetry, its calls are traced: node --import ./your-sdk.js main.js
import { createClient, loadConfig } from "tradewire";
import { openTelemetry } from "tradewire/opentelemetry";
import { createService } from "./service.js";

/** The longest time in which requests may come to their end, in milliseconds. */
const DRAIN_MS = 30_000;

const { PORT = "8080", HOST = "127.0.0.1" } = process.env;

try {
  const client = createClient(loadConfig().config, openTelemetry());
  const app = createService(client);
  app.addHook("onClose", () => client.close()); // When all requests have been answered.
  const stop = () => {
    setTimeout(() => process.exit(1), DRAIN_MS).unref(); // Who reads slowly keeps nobody waiting for ever.
    // A connection is kept for the next request, also one whose last answer ends only now.
    setInterval(() => app.server.closeIdleConnections(), 100).unref();
    return app.close();
  };
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) {
    process.once(signal, stop);
  }
  await app.listen({ port: Number(PORT), host: HOST });
} catch (reason) {
  console.error(reason instanceof Error ? reason.message : reason);
  process.exitCode = 1;
}
