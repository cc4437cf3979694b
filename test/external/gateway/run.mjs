// Compares the REST transport with gRPC over a gateway that is not ours: the example server and the example gateway of
// grpc-gateway, built with Go. Without Go there is nothing to do.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const MODULE = "github.com/grpc-ecosystem/grpc-gateway/v2";
const VERSION = "v2.33.0";
const COMMANDS = "examples/internal/cmd";
const START_MS = 120_000;

const root = fileURLToPath(new URL("../../../", import.meta.url));
const cache = join(root, "node_modules/.cache/gateway");
const copy = join(cache, "source");
const image = join(cache, "image.binpb");

/** Definitions that the examples import and that neither the module nor this project holds. */
const FIELD_BEHAVIOR = `
  syntax = "proto3";
  package google.api;
  import "google/protobuf/descriptor.proto";
  extend google.protobuf.FieldOptions { repeated FieldBehavior field_behavior = 1052 [packed = false]; }
  enum FieldBehavior { FIELD_BEHAVIOR_UNSPECIFIED = 0; OPTIONAL = 1; REQUIRED = 2; OUTPUT_ONLY = 3; }`;
const FILES = [
  "a_bit_of_everything",
  "echo_service",
  "flow_combination",
  "non_standard_names",
  "response_body_service",
  "stream",
];

function hasGo() {
  try {
    execFileSync("go", ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function go(args, cwd) {
  const options = { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] };
  return execFileSync("go", args, options);
}

/** Copy the module's source: that of Go is read-only. */
function copySource() {
  const { Dir: source } = JSON.parse(go(["mod", "download", "-json", `${MODULE}@${VERSION}`], cache));
  rmSync(copy, { recursive: true, force: true });
  execFileSync("cp", ["-R", source, copy]);
  execFileSync("chmod", ["-R", "u+w", copy]);
}

/** Build the server and the gateway, which would listen on a fixed port. */
function build() {
  const main = join(copy, COMMANDS, "example-gateway-server/main.go");
  const changed = readFileSync(main, "utf8").replace('":8080"', 'os.Getenv("GATEWAY_ADDRESS")');
  writeFileSync(main, changed.replace('"flag"', '"flag"\n\t"os"'));
  const commands = ["example-grpc-server", "example-gateway-server"].map((name) => `./${COMMANDS}/${name}`);
  go(["build", "-o", `${join(cache, "bin")}/`, ...commands], copy);
}

/** Compile the examples' definitions to a descriptor set. */
function compile() {
  const proto = join(cache, "proto");
  rmSync(proto, { recursive: true, force: true });
  for (const folder of ["examples/internal/proto", "protoc-gen-openapiv2/options"]) {
    const filter = (path) => statSync(path).isDirectory() || path.endsWith(".proto");
    cpSync(join(copy, folder), join(proto, folder), { recursive: true, filter });
  }
  cpSync(join(root, "proto/google"), join(proto, "google"), { recursive: true });
  writeFileSync(join(proto, "google/api/field_behavior.proto"), FIELD_BEHAVIOR);
  const paths = FILES.flatMap((name) => ["--path", `examples/internal/proto/examplepb/${name}.proto`]);
  execFileSync(join(root, "node_modules/.bin/buf"), ["build", ...paths, "--output", image], {
    cwd: proto,
    stdio: "inherit",
  });
}

async function freeAddress() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${port}`;
}

async function healthy(url) {
  const end = Date.now() + START_MS;
  while (Date.now() < end) {
    const response = await fetch(`${url}/healthz`).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) {
      return;
    }
    await sleep(100);
  }
  throw new Error(`the example gateway did not start within ${START_MS} ms`);
}

async function run() {
  mkdirSync(cache, { recursive: true });
  copySource();
  build();
  compile();
  const [grpc, rest] = [await freeAddress(), await freeAddress()];
  const children = [
    spawn(join(cache, "bin/example-grpc-server"), ["-addr", grpc], { stdio: "ignore" }),
    spawn(join(cache, "bin/example-gateway-server"), ["-endpoint", grpc], {
      stdio: "ignore",
      env: { ...process.env, GATEWAY_ADDRESS: rest },
    }),
  ];
  try {
    await healthy(`http://${rest}`);
    const jest = ["--import", "./test/support/jest/load.mjs", "node_modules/jest/bin/jest.js"];
    const config = ["--config", "test/jest.config.mjs", "--testMatch", "**/test/external/gateway/*.check.ts"];
    const env = {
      ...process.env,
      GATEWAY_IMAGE: image,
      GATEWAY_GRPC: `http://${grpc}`,
      GATEWAY_REST: `http://${rest}`,
    };
    const tests = spawn(process.execPath, [...jest, ...config], {
      cwd: root,
      env,
      stdio: "inherit",
    });
    return await new Promise((resolve) => tests.once("close", resolve));
  } finally {
    for (const child of children) {
      child.kill();
    }
  }
}

if (hasGo()) {
  process.exitCode = (await run()) ?? 1;
} else {
  console.log("test:gateway is skipped: it needs Go, and there is none");
}
