// The server's process. The bench asks it, over the channel of `fork`, for a port with some content, or for what it has
// used so far.
import { createContent } from "./contents.mjs";
import { createHttp1Server, createTcpServer } from "./http1.mjs";
import { createHttp2Server } from "./http2.mjs";

const makers = { grpc: createHttp2Server, rest: createHttp1Server, tcp: createTcpServer };

process.on("disconnect", () => process.exit());
process.on("message", ({ open }) => {
  if (open === undefined) {
    const { user, system } = process.cpuUsage();
    process.send({ cpu: (user + system) / 1e6 });
    return;
  }
  const { answer, ...sizes } = createContent(open);
  const server = makers[open.protocol](answer);
  server.listen(0, "127.0.0.1", () => {
    process.send({ url: `http://127.0.0.1:${server.address().port}`, ...sizes });
  });
});
