/**
 * The client that the conformance suite runs: it reads calls from its input, makes them with the client that its
 * argument names, and writes what came of them to its output. Each message has its length before it, in four bytes.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { CreateCaller, TlsFiles } from "./caller.js";
import { connectNode } from "./connect-node.js";
import {
  type ClientCompatRequest,
  ClientCompatRequestSchema,
  type ClientCompatResponse,
  ClientCompatResponseSchema,
} from "./gen/connectrpc/conformance/v1/client_compat_pb.js";
import { grpcJs } from "./grpc-js.js";
import { invoke } from "./invoke.js";
import { tradewire } from "./tradewire.js";

/** The size of the length before a message. */
const HEAD_SIZE = 4;

/** The calls that are under way at a time. */
const CALLS = 4;

const callers: Readonly<Record<string, CreateCaller>> = {
  "tradewire grpc": tradewire("grpc"),
  "tradewire grpc-js": tradewire("grpc-js"),
  "connect-node": connectNode,
  "grpc-js": grpcJs,
};

const createCaller = callers[process.argv[2] ?? ""];
if (createCaller === undefined) {
  throw new Error(`the argument must be one of: ${Object.keys(callers).join(", ")}`);
}
const folder = mkdtempSync(join(tmpdir(), "tradewire-conformance-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
process.on("SIGTERM", () => process.exit(1));

const requests = readRequests(process.stdin);
await Promise.all(Array.from({ length: CALLS }, () => answerAll(createCaller)));

async function answerAll(create: CreateCaller): Promise<void> {
  for await (const request of requests) {
    write(await answer(request, create));
  }
}

async function answer(request: ClientCompatRequest, createCaller: CreateCaller): Promise<ClientCompatResponse> {
  const { testName } = request;
  try {
    const caller = createCaller(request, tlsFiles(request));
    const value = await invoke(request, caller).finally(() => caller.close());
    return create(ClientCompatResponseSchema, { testName, result: { case: "response", value } });
  } catch (reason) {
    const message = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
    return create(ClientCompatResponseSchema, { testName, result: { case: "error", value: { message } } });
  }
}

function tlsFiles({ serverTlsCert, clientTlsCreds }: ClientCompatRequest): TlsFiles {
  return {
    ...(serverTlsCert.length > 0 && { caFile: saved(serverTlsCert) }),
    ...(clientTlsCreds !== undefined && { certFile: saved(clientTlsCreds.cert), keyFile: saved(clientTlsCreds.key) }),
  };
}

function saved(pem: Uint8Array): string {
  const path = join(folder, `${createHash("sha256").update(pem).digest("hex")}.pem`);
  writeFileSync(path, pem);
  return path;
}

async function* readRequests(input: AsyncIterable<Buffer>): AsyncGenerator<ClientCompatRequest> {
  let rest = Buffer.alloc(0);
  for await (const chunk of input) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= HEAD_SIZE && rest.length >= HEAD_SIZE + rest.readUInt32BE()) {
      const end = HEAD_SIZE + rest.readUInt32BE();
      yield fromBinary(ClientCompatRequestSchema, rest.subarray(HEAD_SIZE, end));
      rest = rest.subarray(end);
    }
  }
}

function write(response: ClientCompatResponse): void {
  const bytes = toBinary(ClientCompatResponseSchema, response);
  const head = Buffer.alloc(HEAD_SIZE);
  head.writeUInt32BE(bytes.length);
  process.stdout.write(Buffer.concat([head, bytes]));
}
