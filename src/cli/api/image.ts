import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
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
import { fileError, quotedPath, readingAdvice } from "../../errors/file-error.js";
import { RequestError } from "../../errors/index.js";
import { compileFolder } from "./compile-folder.js";

/** The largest image that is read, in bytes. */
export const MAX_IMAGE_BYTES = 64 * 1024 * 1024;

const HOW_TO_MAKE_ONE =
  "Make it with `buf build -o image.binpb`, or `protoc --include_imports --descriptor_set_out=image.binpb ...`.";

/**
 * Read definitions: a Buf image or a descriptor set, binary or as JSON, or a folder of `.proto` files, which is
 * compiled.
 *
 * @param path of the file or the folder
 * @param signal ends the reading and compiling
 * @returns the definitions of all files
 * @throws {@link FileError} if the file cannot be read
 * @throws {@link RequestError} if it holds no sound definitions, lacks what they import, or cannot be compiled
 */
export async function readImage(path: string, signal: AbortSignal): Promise<FileRegistry> {
  const found = await stat(path).catch((reason: unknown) => {
    throw fileError(reason, path, readingAdvice);
  });
  const bytes = found.isDirectory()
    ? await compileFolder(path, MAX_IMAGE_BYTES, signal)
    : await fileBytes(path, signal);
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
    throw new RequestError(`${quotedPath(path)} holds no whole definitions: ${why}`, {
      advice: HOW_TO_MAKE_ONE,
      cause,
    });
  }
}

/** Name fields in JSON as compilers do, where a descriptor set leaves that out. */
function restoreJsonNames(messages: readonly DescriptorProto[]): void {
  for (const { field, nestedType } of messages) {
    for (const one of field) {
      one.jsonName ||= protoCamelCase(one.name);
    }
    restoreJsonNames(nestedType);
  }
}

function noImage(path: string, cause?: unknown): RequestError {
  return new RequestError(`${quotedPath(path)} is no Buf image and no descriptor set`, {
    advice: HOW_TO_MAKE_ONE,
    cause,
  });
}

/** Read the bytes of an image. The first byte of a binary one, which has fields, is no brace. */
function descriptorSet(bytes: Buffer): FileDescriptorSet {
  if (bytes[0] !== 0x7b) {
    return fromBinary(FileDescriptorSetSchema, bytes);
  }
  const json: JsonValue = JSON.parse(bytes.toString());
  return fromJson(FileDescriptorSetSchema, json, { registry: createRegistry(http), ignoreUnknownFields: true });
}

async function fileBytes(path: string, signal: AbortSignal): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of createReadStream(path, { signal })) {
      pieces.push(piece);
      size += piece.length;
      if (size > MAX_IMAGE_BYTES) {
        break;
      }
    }
  } catch (reason) {
    throw fileError(reason, path, readingAdvice);
  }
  if (size === 0 || size > MAX_IMAGE_BYTES) {
    const what = size === 0 ? "is empty" : `is larger than ${MAX_IMAGE_BYTES} bytes, the limit for an image`;
    throw new RequestError(`${quotedPath(path)} ${what}`, { advice: HOW_TO_MAKE_ONE });
  }
  return Buffer.concat(pieces);
}
