import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { Code, encodeBinaryHeader } from "@connectrpc/connect";
import { Client, type ClientWritableStream, compressionAlgorithms, credentials, Metadata } from "@grpc/grpc-js";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import type { Answer, CallSettings, CreateCaller, Failure, MethodName } from "./caller.js";
import { only } from "./connect-caller.js";
import { Compression } from "./gen/connectrpc/conformance/v1/config_pb.js";
import { ConformanceService } from "./gen/connectrpc/conformance/v1/service_pb.js";

/** The events and the end of any call of grpc-js. */
type AnyCall = ReturnType<Client["makeUnaryRequest"]>;

/** Make a client of grpc-js itself, for comparison. */
export const grpcJs: CreateCaller = (
  { host, port, compression, messageReceiveLimit },
  { caFile, certFile, keyFile },
) => {
  const read = (file: string | undefined) => (file === undefined ? null : readFileSync(file));
  const security =
    caFile === undefined
      ? credentials.createInsecure()
      : credentials.createSsl(read(caFile), read(keyFile), read(certFile));
  const client = new Client(`${host}:${port}`, security, {
    ...(compression === Compression.GZIP && {
      "grpc.default_compression_algorithm": compressionAlgorithms.gzip,
    }),
    ...(messageReceiveLimit > 0 && { "grpc.max_receive_message_length": messageReceiveLimit }),
  });
  return {
    call: (name, messages, settings) => call(client, name, messages, settings),
    failure,
    close: async () => client.close(),
  };
};

async function* call(
  client: Client,
  name: MethodName,
  messages: AsyncIterable<Message>,
  settings: CallSettings,
): AsyncGenerator<Answer> {
  const { parent, name: ownName, methodKind, input, output } = ConformanceService.method[name];
  const path = `/${parent.typeName}/${ownName}`;
  const write = (message: Message) => Buffer.from(toBinary<DescMessage>(input, message));
  const read = (bytes: Buffer): Answer => fromBinary(output, bytes);
  const metadata = toMetadata(settings.headers);
  const options = settings.timeoutMs === undefined ? {} : { deadline: Date.now() + settings.timeoutMs };
  switch (methodKind) {
    case "unary": {
      const message = await only<DescMessage>(input, messages);
      yield* answered((done) =>
        watch(client.makeUnaryRequest(path, write, read, message, metadata, options, done), settings),
      );
      break;
    }
    case "server_streaming": {
      const message = await only<DescMessage>(input, messages);
      yield* watch(client.makeServerStreamRequest(path, write, read, message, metadata, options), settings);
      break;
    }
    case "client_streaming":
      yield* answered((done) => {
        const sending = client.makeClientStreamRequest(path, write, read, metadata, options, done);
        send(messages, watch(sending, settings));
      });
      break;
    case "bidi_streaming": {
      const both = watch(client.makeBidiStreamRequest(path, write, read, metadata, options), settings);
      send(messages, both);
      yield* both;
      break;
    }
  }
}

type Done = (error: Error | null, answer?: Answer) => void;

async function* answered(start: (done: Done) => void): AsyncGenerator<Answer> {
  const answer = await promisify(start)();
  if (answer !== undefined) {
    yield answer;
  }
}

function send(messages: AsyncIterable<Message>, call: ClientWritableStream<Message>): void {
  Readable.from(messages)
    .on("data", (message) => call.write(message))
    .on("end", () => call.end());
}

function watch<T extends AnyCall>(started: T, { signal, onHeader, onTrailer }: CallSettings): T {
  started.on("metadata", (metadata) => onHeader(toHeaders(metadata)));
  started.on("status", (status) => onTrailer(toHeaders(status.metadata)));
  signal.addEventListener("abort", () => started.cancel(), { once: true });
  return started;
}

function failure(reason: unknown): Failure {
  if (!(reason instanceof Error && "metadata" in reason && reason.metadata instanceof Metadata)) {
    throw reason; // Everything that a call throws is a status.
  }
  const { metadata } = reason;
  const [status] = metadata.get("grpc-status-details-bin");
  const details = Buffer.isBuffer(status) ? fromBinary(StatusSchema, status).details : [];
  return {
    code: "code" in reason && typeof reason.code === "number" ? reason.code : Code.Unknown,
    message: "details" in reason ? String(reason.details) : "",
    details: details.map(({ typeUrl, value }) => ({ type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value })),
    metadata: toHeaders(metadata),
  };
}

function toMetadata(headers: Headers): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of headers) {
    if (!name.endsWith("-bin")) {
      metadata.add(name, value);
      continue;
    }
    for (const base64 of value.split(",")) {
      metadata.add(name, Buffer.from(base64, "base64"));
    }
  }
  return metadata;
}

function toHeaders(metadata: Metadata): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(metadata.toJSON())) {
    for (const value of values) {
      headers.append(name, typeof value === "string" ? value : encodeBinaryHeader(value));
    }
  }
  return headers;
}
