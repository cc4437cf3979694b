import { expect, it } from "@jest/globals";
import { shell, startProcess } from "../support/command-process.js";
import { eventOf, streamingService } from "../support/event-server.js";
import { serveNode } from "../support/node.js";

it("tradewire events ends on Ctrl-C with 130, and with its reader with 0", async () => {
  const { service } = streamingService(async function* () {
    for (let block = 1; ; block += 1) {
      yield [eventOf(`${block}-1`)];
    }
  });
  await using node = await serveNode(service);
  const running = startProcess(["events", "--grpc-url", node.grpcUrl]);
  await running.firstLine;
  running.child.kill("SIGINT");
  expect((await running.ended).code).toBe(130);
  const piped = await shell('tradewire events --grpc-url "$1" | head -n 1 | cut -c 1-5; exit 0', [node.grpcUrl], ".");
  expect(piped).toEqual({ code: 0, out: '{"id"\n', err: "" });
});
