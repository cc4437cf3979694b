import type { ClientConfig } from "tradewire";

/** How an answer of the node's travels: as gRPC over HTTP/2, or from the gateway as the archive itself or in envelopes. */
export type Way = "grpc" | "body" | "envelopes";

/** Where a node answers, and how it is spoken to. */
export interface NodeEndpoints {
  readonly grpc: NonNullable<ClientConfig["grpc"]>;
  readonly rest: NonNullable<ClientConfig["rest"]>;
  /** A port on which nothing listens. */
  readonly nowhere: string;
}

/** A transport that the contract holds. */
export interface ContractTransport {
  readonly name: string;
  /** The ways that its calls may go; a case has to be possible over all of them. */
  readonly ways: readonly Way[];
  config(node: NodeEndpoints): ClientConfig;
}

const envelopes = { accept: "application/x-ndjson" };

/** The transports: one line each. */
export const transports: readonly ContractTransport[] = [
  { name: "grpc", ways: ["grpc"], config: ({ grpc }) => ({ transport: "grpc", grpc }) },
  {
    name: "grpc json",
    ways: ["grpc"],
    config: ({ grpc }) => ({ transport: "grpc", grpc: { ...grpc, codec: "json" } }),
  },
  { name: "grpc-js", ways: ["grpc"], config: ({ grpc }) => ({ transport: "grpc-js", grpc }) },
  { name: "rest", ways: ["body"], config: ({ rest }) => ({ transport: "rest", rest }) },
  {
    name: "rest envelopes",
    ways: ["envelopes"],
    config: ({ rest }) => ({
      transport: "rest",
      rest: { ...rest, headers: { ...rest.headers, ...envelopes } },
    }),
  },
  { name: "auto", ways: ["grpc", "body"], config: ({ grpc, rest }) => ({ transport: "auto", grpc, rest }) },
  {
    name: "auto over rest",
    ways: ["body"],
    config: ({ grpc, rest, nowhere }) => ({
      transport: "auto",
      grpc: { ...grpc, url: String(grpc.url).replace(/^(https?:).*/, `$1//${nowhere}`) },
      rest,
    }),
  },
];
