import { type Client, type ClientConfig, createClient } from "tradewire";

/** The ways to reach a node. */
export const ways = ["grpc", "grpc with JSON", "grpc-js", "rest", "auto"] as const;

/** Make the configuration for a way to reach a node. */
export function configOf(way: (typeof ways)[number], node: { grpcUrl: string; restUrl: string }): ClientConfig {
  const grpc = { url: node.grpcUrl };
  const rest = { url: node.restUrl };
  switch (way) {
    case "grpc with JSON":
      return { transport: "grpc", grpc: { ...grpc, codec: "json" } };
    case "auto":
      return { transport: way, grpc, rest };
    case "rest":
      return { transport: way, rest };
    default:
      return { transport: way, grpc };
  }
}

/** Create a client for each way to reach a node. */
export function clientsOf(node: { grpcUrl: string; restUrl: string }): Record<(typeof ways)[number], Client> {
  const client = (way: (typeof ways)[number]) => createClient(configOf(way, node));
  return {
    grpc: client("grpc"),
    "grpc with JSON": client("grpc with JSON"),
    "grpc-js": client("grpc-js"),
    rest: client("rest"),
    auto: client("auto"),
  };
}

/** Collect all values. */
export async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) {
    all.push(value);
  }
  return all;
}

/** Get the error of a function that must fail. */
export async function failureOf(run: () => unknown): Promise<unknown> {
  try {
    await run();
  } catch (reason) {
    return reason;
  }
  throw new Error("it did not fail");
}
