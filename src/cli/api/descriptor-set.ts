import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import {
  createFileRegistry,
  createRegistry,
  type FileRegistry,
  fromBinary,
  fromJson,
  type JsonValue,
} from "@bufbuild/protobuf";
import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import { type DescriptorProto, type FileDescriptorSet, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { http } from "../../../gen/google/api/annotations_pb.js";
import { truncate } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { fileError, quotedPath, READ_ADVICE } from "../../base/errors/node-errors.js";
import { readBoundedFile } from "../../base/file/read-file.js";

/** The maximum size of an image, in bytes. */
const MAX_IMAGE_BYTES = 64 * 1024 * 1024;

const HOW_TO_MAKE_ONE =
  "Create one with `buf build -o image.binpb` or `protoc --include_imports --descriptor_set_out=image.binpb ...`.";

/**
 * Reads definitions: a Buf image or a descriptor set, binary or as JSON, or a folder of `.proto` files, which is compiled.
 *
 * @throws {@link FileError} if the file cannot be read
 * @throws {@link RequestError} if it contains no valid definitions, lacks their imports, or cannot be compiled
 */
export async function readImage(path: string, signal: AbortSignal): Promise<FileRegistry> {
  const found = await stat(path).catch((reason: unknown) => {
    throw fileError(reason, path, READ_ADVICE);
  });
  const bytes = found.isDirectory()
    ? await compileFolder(path, MAX_IMAGE_BYTES, signal)
    : await readBoundedFile(path, { maxBytes: MAX_IMAGE_BYTES, kind: "an image", advice: HOW_TO_MAKE_ONE, signal });
  let set: FileDescriptorSet;
  try {
    set = descriptorSet(bytes);
  } catch (cause) {
    throw noImage(path, cause);
  }
  if (set.file.length === 0) {
    throw noImage(path);
  }
  for (const { messageType } of set.file) {
    restoreJsonNames(messageType);
  }
  try {
    return createFileRegistry(set);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new RequestError(`${quotedPath(path)} has incomplete or invalid definitions: ${why}`, {
      advice: HOW_TO_MAKE_ONE,
      cause,
    });
  }
}

/** Adds the JSON names of fields that a descriptor set omits, like compilers do. */
export function restoreJsonNames(messages: readonly DescriptorProto[]): void {
  for (const { field, nestedType } of messages) {
    for (const one of field) {
      one.jsonName ||= protoCamelCase(one.name);
    }
    restoreJsonNames(nestedType);
  }
}

function noImage(path: string, cause?: unknown): RequestError {
  return new RequestError(`${quotedPath(path)} is neither a Buf image nor a descriptor set`, {
    advice: path.endsWith(".proto") ? "Give the folder from which its imports are found." : HOW_TO_MAKE_ONE,
    cause,
  });
}

/** Decodes an image. A binary image never begins with a brace. */
function descriptorSet(bytes: Buffer): FileDescriptorSet {
  if (bytes[0] !== 0x7b) {
    return fromBinary(FileDescriptorSetSchema, bytes);
  }
  const json: JsonValue = JSON.parse(bytes.toString());
  return fromJson(FileDescriptorSetSchema, json, { registry: createRegistry(http), ignoreUnknownFields: true });
}

/** The timeout of compiling, in milliseconds. It may have to fetch remote dependencies. */
const COMPILE_TIMEOUT_MS = 60_000;

/** The maximum length of the compiler's message in an error, in characters. */
const MAX_MESSAGE = 1000;

/**
 * Compiles a folder of `.proto` files with buf, which is found in the search path or as the package `@bufbuild/buf`.
 *
 * @throws {@link RequestError} if buf is not installed, or cannot compile the folder
 */
async function compileFolder(folder: string, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  for (const [program, ...args] of compilers()) {
    const image = await compile(program, [...args, "build", "--output", "-"], { folder, maxBytes, signal });
    if (image !== undefined) {
      return image;
    }
  }
  throw new RequestError(`${quotedPath(folder)} must be compiled, but buf is not installed`, {
    advice:
      "Install it (`npm install --save-dev @bufbuild/buf`), or build an image elsewhere (`buf build -o image.binpb`) and use the image.",
  });
}

/** Returns the programs to try, each with its first arguments. */
function compilers(): [program: string, ...args: string[]][] {
  try {
    const installed = createRequire(join(process.cwd(), "package.json")).resolve("@bufbuild/buf/bin/buf");
    return [["buf"], [process.execPath, installed]];
  } catch {
    return [["buf"]];
  }
}

/** Runs a compiler; returns undefined if there is no such program. */
function compile(
  program: string,
  args: readonly string[],
  { folder, maxBytes, signal }: { readonly folder: string; readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<Buffer | undefined> {
  const options = {
    cwd: folder,
    timeout: COMPILE_TIMEOUT_MS,
    maxBuffer: maxBytes,
    signal,
    encoding: "buffer",
  } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(program, [...args], options, (error, image, message) => {
      if (error === null) {
        resolve(image);
      } else if (error.code === "ENOENT") {
        resolve(undefined);
      } else {
        reject(refusal(folder, error, message.toString()));
      }
    });
    child.stdin?.end();
  });
}

function refusal(folder: string, error: Error, message: string): RequestError {
  const hasTimedOut = "killed" in error && error.killed === true;
  const why = hasTimedOut ? `timeout after ${COMPILE_TIMEOUT_MS / 1000} s` : message.trim() || error.message;
  return new RequestError(
    `buf cannot compile ${quotedPath(folder)}: ${truncate(why.replace(/\s*\n\s*/g, "; "), MAX_MESSAGE)}`,
    {
      advice: "Correct the definitions. `buf build` in that folder reports the same error.",
      cause: error,
    },
  );
}
