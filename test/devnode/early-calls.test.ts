import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { createClient } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";

/** Ports that were free a moment ago. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
  return ports;
}

test.each(["grpc", "grpc-js", "rest"] as const)(
  "a call that comes while the node is started is answered, over %s",
  async (transport) => {
    const folder = await mkdtemp(join(tmpdir(), "tradewire-early-"));
    const [grpcPort = 0, restPort = 0] = await freePorts(2);
    const grpc = { url: `http://127.0.0.1:${grpcPort}` };
    const rest = { url: `http://127.0.0.1:${restPort}` };
    const client = createClient({ transport, grpc, rest, retry: { tries: 10, baseMs: 10, maxMs: 20 } });
    const answered = client.service(CoreService).lastBlockHeight({}, { timeoutMs: 20_000 });
    const settings = { grpcPort, restPort, blockMs: 0, segments: 2, blocksPerSegment: 10, dataDir: folder };
    await using _node = await startDevnode(settings);
    expect(await answered).toMatchObject({ height: 20n });
    await client.close();
    await rm(folder, { recursive: true });
  },
);
