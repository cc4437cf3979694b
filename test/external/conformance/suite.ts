import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/**
 * The version of the suite. The stubs in `gen/` are made of its definitions; for another version, make them anew in the
 * project's folder, with the folder that `go mod download -json connectrpc.com/conformance@VERSION` gives as `Dir`:
 *
 *     buf generate Dir/proto --output test/external/conformance --path Dir/proto/connectrpc/conformance/v1/client_compat.proto
 *
 * and `--path` once more for `config.proto` and for `service.proto`.
 */
const VERSION = "v1.0.7";

/** The longest time of a run, in milliseconds. */
const RUN_MS = 300_000;

/** What is run against the suite. */
export interface Run {
  /** The name that `client.ts` knows. */
  readonly client: string;
  /** Whether the client has the JSON codec beside Protobuf's. */
  readonly json: boolean;
  /** Options of the suite, such as the list of cases that are known to fail. */
  readonly options?: readonly string[];
}

/** What came of a run. */
export interface Outcome {
  readonly run: Run;
  readonly passed: number;
  /** The full names of the cases that failed, or that passed though they are known to fail. */
  readonly failed: readonly string[];
  /** The full names of the cases that are known to fail, and did. */
  readonly known: readonly string[];
  /** The number of cases that could not be run. */
  readonly notRun: number;
  /** What the suite has printed. */
  readonly output: string;
}

/**
 * Find the suite's program, and install it with Go where it is not there yet.
 *
 * @throws Error where Go cannot install it
 */
export function findSuite(cache: string): string | undefined {
  const folder = join(cache, VERSION);
  const program = join(folder, process.platform === "win32" ? "connectconformance.exe" : "connectconformance");
  if (existsSync(program)) {
    return program;
  }
  mkdirSync(folder, { recursive: true });
  const name = `connectrpc.com/conformance/cmd/connectconformance@${VERSION}`;
  const { error, status } = spawnSync("go", ["install", name], {
    env: { ...process.env, GOBIN: folder },
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (error !== undefined && "code" in error && error.code === "ENOENT") {
    return undefined;
  }
  if (error !== undefined || status !== 0) {
    throw error ?? new Error(`go install ${name} ended with ${status}`);
  }
  return program;
}

/**
 * Run the suite against a client: gRPC in clear text and with TLS, without compression and with gzip.
 *
 * @throws Error where the suite does not come to an end
 */
export async function runSuite(program: string, cache: string, run: Run): Promise<Outcome> {
  const { client, json, options = [] } = run;
  const features = {
    versions: ["HTTP_VERSION_2"],
    protocols: ["PROTOCOL_GRPC"],
    codecs: json ? ["CODEC_PROTO", "CODEC_JSON"] : ["CODEC_PROTO"],
    compressions: ["COMPRESSION_IDENTITY", "COMPRESSION_GZIP"],
    supportsTlsClientCerts: true,
  };
  const config = join(cache, `${client.replaceAll(" ", "-")}.yaml`);
  writeFileSync(config, JSON.stringify({ features })); // JSON is YAML.
  const command = [process.execPath, fileURLToPath(new URL("client.js", import.meta.url)), client];
  const suite = spawn(program, ["--mode", "client", "--conf", config, ...options, "--", ...command], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: RUN_MS,
  });
  const [output, errors] = await Promise.all([text(suite.stdout), text(suite.stderr), once(suite, "close")]);
  const passed = /^(\d+) passed, \d+ failed$/m.exec(output)?.[1];
  if (passed === undefined) {
    throw new Error(`the suite did not come to an end with ${client}:\n${output}${errors}`);
  }
  return {
    run,
    passed: Number(passed),
    failed: names(output, /^FAILED: (.*?)(?::| was expected to fail but did not)$/gm),
    known: names(output, /^INFO: (.*) failed \(as expected\):$/gm),
    notRun: Number(/^Another (\d+) could not be run/m.exec(output)?.[1] ?? 0),
    output,
  };
}

function names(output: string, found: RegExp): string[] {
  return [...output.matchAll(found)].flatMap(([, name]) => name ?? []);
}
