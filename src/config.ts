import { z } from "zod";
import { RequestError } from "./errors.js";

const MIB = 1024 * 1024;

const url = z.url({
  protocol: /^https?$/,
  error: "expected a URL such as http://127.0.0.1:3002 or https://node.example",
});
const bytes = (smallest: number, largest: number) => z.int().min(smallest).max(largest);

const grpc = z.strictObject({
  /** Where the node answers gRPC, such as `http://127.0.0.1:3007`; `https` for TLS. */
  url,
  /** How messages are written: `proto` is Protobuf's binary form; `json` its JSON, where an archive is a third larger. */
  codec: z.enum(["proto", "json"]).default("proto"),
  /** Flow-control windows of HTTP/2, of each stream and of the connection, in bytes. */
  windowBytes: bytes(65_535, 2 ** 31 - 1).default(8 * MIB),
});

const rest = z.strictObject({
  /** Where the HTTP gateway answers, such as `http://127.0.0.1:3008`; a path in it is put in front of every method's. */
  url,
});

const limits = z.strictObject({
  /** The largest gRPC message that is read, in bytes. */
  maxMessageBytes: bytes(1, 2 ** 32 - 1).default(64 * MIB),
  /** The largest JSON object that is read, a chunk of a stream or a whole body, in bytes. */
  maxJsonBytes: bytes(1, 2 ** 29).default(64 * MIB),
  /** The largest archive that `toZip()` takes into memory, in bytes. */
  maxArchiveBytes: bytes(1, 2 ** 32 - 1).default(512 * MIB),
});

const shared = { limits: limits.prefault({}) };

const schema = z.discriminatedUnion("transport", [
  z.strictObject({ transport: z.literal("grpc"), grpc, rest: rest.optional(), ...shared }),
  z.strictObject({ transport: z.literal("rest"), rest, grpc: grpc.optional(), ...shared }),
]);

/** What a client can be configured with; what is left out has its default. */
export type ClientConfig = z.input<typeof schema>;
/** A configuration with every default filled in. */
export type Config = z.output<typeof schema>;
/** How gRPC is spoken. */
export type GrpcConfig = z.output<typeof grpc>;
/** How the HTTP gateway is spoken to. */
export type RestConfig = z.output<typeof rest>;
/** What is read at most. */
export type Limits = z.output<typeof limits>;

/**
 * Check a configuration and fill in the defaults.
 *
 * @throws {@link RequestError} naming each key that is wrong, what was found and what is possible
 */
export function readConfig(config: unknown): Config {
  const result = schema.safeParse(config, { reportInput: true });
  if (result.success) {
    return result.data;
  }
  const wrong = result.error.issues.map((issue) => `${issue.path.join(".") || "(configuration)"}: ${issue.message}`);
  throw new RequestError(`the configuration is wrong: ${wrong.join("; ")}`, {
    advice: "Correct what is named; the configuration's type and the README list what is possible.",
  });
}
