import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import {
  createFileRegistry,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  type FileRegistry,
  fromBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Compile definitions as someone else would have them, beside those of `google.api`. */
export async function compile(files: Readonly<Record<string, string>>): Promise<FileRegistry> {
  const folder = await mkdtemp(join(tmpdir(), "definitions-"));
  try {
    await cp(join(root, "proto/google"), join(folder, "google"), { recursive: true });
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    const buf = join(root, "node_modules/.bin/buf");
    const { stdout } = await promisify(execFile)(buf, ["build", "--output", "-"], {
      cwd: folder,
      encoding: "buffer",
      maxBuffer: 2 ** 26,
    });
    return createFileRegistry(fromBinary(FileDescriptorSetSchema, stdout));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Find a service. */
export function serviceOf(registry: FileRegistry, name: string): DescService {
  const service = registry.getService(name);
  if (service === undefined) {
    throw new Error(`the definitions have no service ${name}`);
  }
  return service;
}

/** Find a method that does not stream. */
export function unaryMethod(service: DescService, name: string): DescMethodUnary {
  const method = service.methods.find((one) => one.name === name);
  if (method === undefined || !isUnary(method)) {
    throw new Error(`${service.typeName} has no unary method ${name}`);
  }
  return method;
}

/** Find a method whose answers stream. */
export function streamingMethod(service: DescService, name: string): DescMethodServerStreaming {
  const method = service.methods.find((one) => one.name === name);
  if (method === undefined || !isServerStreaming(method)) {
    throw new Error(`${service.typeName} has no method ${name} whose answers stream`);
  }
  return method;
}

/** Whether a method does not stream. */
export function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

/** Whether a method's answers stream, and its requests do not. */
export function isServerStreaming(method: DescMethod): method is DescMethodServerStreaming {
  return method.methodKind === "server_streaming";
}
