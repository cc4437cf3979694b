import { Code } from "@connectrpc/connect";
import { ConnectionError } from "tradewire";
import { serveNode, serveTcp } from "../support/node.js";
import { type Case, failure, type Surroundings } from "./case.js";
import { type Operation, streams } from "./operations.js";
import type { NodeEndpoints } from "./transports.js";

const timeUp = failure(ConnectionError, Code.DeadlineExceeded, "the deadline of the call passed");
const nothingCame = failure(ConnectionError, Code.DeadlineExceeded, "no data received for 200 ms (idle timeout)");
const foreign = failure(ConnectionError, Code.Unavailable, "the server does not speak the protocol of this transport");

/** No label of a name is that long, so nobody has to be asked. */
const UNKNOWN_HOST = `http://${"x".repeat(64)}.invalid:3007`;

/** Both of the node's URLs lead somewhere else. */
function leadTo({ grpc, rest, ...own }: NodeEndpoints, grpcUrl: string, restUrl = grpcUrl): NodeEndpoints {
  return { ...own, grpc: { ...grpc, url: grpcUrl }, rest: { ...rest, url: restUrl } };
}

/** The headers of this test may go over plain HTTP anywhere. */
function insecure({ grpc, rest, nowhere }: NodeEndpoints): NodeEndpoints {
  const allowInsecureHeaders = true;
  return { grpc: { ...grpc, allowInsecureHeaders }, rest: { ...rest, allowInsecureHeaders }, nowhere };
}

async function accepting(scheme: "http" | "https"): Promise<Surroundings> {
  const silent = await serveTcp((socket) => socket.resume());
  const url = silent.url.replace("http", scheme);
  return { endpoints: (own) => leadTo(own, url), [Symbol.asyncDispose]: () => silent[Symbol.asyncDispose]() };
}

/** The node cannot be reached, or something else is where it should be. */
export const networkCases: readonly Case[] = [
  {
    name: "the node is down",
    surround: () => ({ endpoints: (own) => leadTo(own, `http://${own.nowhere}`) }),
    expected: failure(ConnectionError, Code.Unavailable, "the connection was refused"),
  },
  {
    name: "the host's name is unknown",
    surround: () => ({ endpoints: (own) => leadTo(insecure(own), UNKNOWN_HOST) }),
    expected: failure(ConnectionError, Code.Unavailable, "the hostname could not be resolved"),
  },
  {
    name: "the ports are mixed up: HTTP/1.1 where gRPC is, HTTP/2 where REST is",
    surround: async () => {
      const node = await serveNode({});
      return {
        endpoints: (own) => leadTo(own, node.restUrl, node.grpcUrl),
        [Symbol.asyncDispose]: () => node.close(),
      };
    },
    expected: foreign,
  },
  {
    name: "a server that says something of its own",
    surround: async () => {
      const ssh = await serveTcp((socket) => socket.end("SSH-2.0-OpenSSH_9.6\r\n"));
      return { endpoints: (own) => leadTo(own, ssh.url), [Symbol.asyncDispose]: () => ssh[Symbol.asyncDispose]() };
    },
    expected: foreign,
  },
  {
    name: "a server that accepts and closes at once",
    surround: async () => {
      const rude = await serveTcp((socket) => socket.destroy());
      return { endpoints: (own) => leadTo(own, rude.url), [Symbol.asyncDispose]: () => rude[Symbol.asyncDispose]() };
    },
    expected: failure(ConnectionError, Code.Unavailable, "the connection was lost"),
  },
  {
    name: "a server that accepts and says nothing",
    surround: () => accepting("http"),
    expected: (operation: Operation) => (streams(operation) ? nothingCame : timeUp),
    config: { timeouts: { callMs: 200, idleMs: 200 } },
  },
  {
    name: "a server that accepts and says nothing of TLS",
    surround: () => accepting("https"),
    expected: failure(ConnectionError, Code.Unavailable, "the connection timed out"),
    config: { timeouts: { connectMs: 200 } },
  },
];
