// A planner or a worker of a queue, as a process of its own. It prints what happens, an object a line.
import { createClient } from "tradewire";
import { postgresSink, queueSync, runWorker } from "tradewire/sync";
import type { ProgramOptions } from "./queue.js";

const [role, json = ""] = process.argv.slice(2);
const { postgres, schema, grpcUrl, options = {} }: ProgramOptions = JSON.parse(json);

const say = (what: object) =>
  process.stdout.write(`${JSON.stringify(what, (_, value) => (typeof value === "bigint" ? String(value) : value))}\n`);

const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
const client = createClient({ grpc: { url: grpcUrl }, retry: { tries: 1 } });
const node = {
  name: "node",
  listSegments: client.listSegments,
  exportNetworkHistory: client.exportNetworkHistory,
};
const shared = {
  ...options,
  sink: postgresSink(postgres, { schema }),
  signal: stopping.signal,
  hooks: {
    onEvent(event: { readonly kind: string }) {
      if (event.kind !== "arrived") {
        say(event.kind === "planned" ? { kind: event.kind } : event);
      }
    },
  },
};
try {
  const summary = await (role === "worker" ? runWorker(node, shared) : queueSync(node, shared));
  say({ kind: "ended", summary });
} catch (error) {
  say({ kind: "threw", message: String(error) });
} finally {
  await client[Symbol.asyncDispose]();
}
