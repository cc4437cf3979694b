import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { createClient } from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { freePort } from "../support/free-port.mjs";

test.each(["grpc", "grpc-js", "rest"] as const)(
  "a call that comes while the node is started is answered, over %s",
  async (transport) => {
    const folder = await mkdtemp(join(tmpdir(), "tradewire-early-"));
    const [grpcPort, restPort] = [await freePort(), await freePort()];
    const grpc = { url: `http://127.0.0.1:${grpcPort}` };
    const rest = { url: `http://127.0.0.1:${restPort}` };
    const client = createClient({ transport, grpc, rest, retry: { tries: 100, baseMs: 10, maxMs: 20 } });
    const answered = client.service(CoreService).lastBlockHeight({}, { timeoutMs: 60_000 });
    const settings = { grpcPort, restPort, blockMs: 0, segments: 2, blocksPerSegment: 10, dataDir: folder };
    await using _node = await startDevnode(settings);
    expect(await answered).toMatchObject({ height: 20n });
    await client.close();
    await rm(folder, { recursive: true });
  },
);
