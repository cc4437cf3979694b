import {
  create,
  createFileRegistry,
  createRegistry,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";
import { createWritableIterable } from "@connectrpc/connect/protocol";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { ServerReflection as ServerReflectionAlpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { Code } from "../../base/errors/code.js";
import { quoted, truncate } from "../../base/errors/error-text.js";
import { NodeError, ProtocolError } from "../../base/errors/index.js";
import type { Definitions } from "./definitions.js";
import { restoreJsonNames } from "./descriptor-set.js";

/** The limits of what a server may define. Bytes are those of its serialized files. */
const MAX_SERVICES = 1000;
const MAX_FILES = 5000;
const MAX_FILES_BYTES = 16 * 1024 * 1024;
const MAX_NAME = 500;

/** The full name of a service or a type; without dots, any other name. */
const FULL_NAME = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/;
const NAME = /^[A-Za-z_]\w*$/;

/**
 * Reads the definitions that a server offers with server reflection (`grpc.reflection.v1`, or else `v1alpha`).
 *
 * @throws {@link TradewireError} if the server cannot be queried
 * @throws {@link ProtocolError} if its definitions are invalid, contradict themselves, or exceed a limit
 */
export async function reflectDefinitions(
  transport: Transport,
  known: Definitions,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Definitions | undefined> {
  for (const parent of [ServerReflection, ServerReflectionAlpha]) {
    // Messages of both versions are equal but for their names, which are not sent.
    const method = { ...ServerReflection.method.serverReflectionInfo, parent };
    using conversation = startConversation(transport, method, options);
    let services: string[];
    try {
      services = await listServices(conversation);
    } catch (reason) {
      if (reason instanceof NodeError && reason.code === Code.Unimplemented) {
        continue;
      }
      throw reason;
    }
    const isKnown = new Set(known.services.map(({ typeName }) => typeName));
    const others = services.filter((name) => !isKnown.has(name));
    return withReflected(known, await readFiles(conversation, others), others);
  }
  return undefined;
}

type ReflectionMethod = typeof ServerReflection.method.serverReflectionInfo;
type Question = NonNullable<MessageInitShape<ReflectionMethod["input"]>["messageRequest"]>;
type Answer = MessageShape<ReflectionMethod["output"]>["messageResponse"];

/** A stream of reflection: each question has one answer, in the order of the questions. */
interface Conversation extends Disposable {
  ask(question: Question): Promise<Answer>;
}

function startConversation(
  transport: Transport,
  method: ReflectionMethod,
  { signal, timeoutMs }: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Conversation {
  const end = new AbortController();
  const questions = createWritableIterable<{ messageRequest: Question }>();
  const limit = AbortSignal.any([signal, end.signal]);
  let answers: AsyncIterator<{ messageResponse: Answer }> | undefined;
  return {
    async ask(messageRequest) {
      const sent = questions.write({ messageRequest });
      sent.catch(() => undefined); // Reading the answer fails, too.
      if (answers === undefined) {
        const { message } = await transport.stream(method, limit, timeoutMs, undefined, questions);
        answers = message[Symbol.asyncIterator]();
      }
      const { done, value } = await answers.next();
      if (done === true) {
        throw invalid("the stream ended before the last response");
      }
      return value.messageResponse;
    },
    [Symbol.dispose]() {
      questions.close();
      end.abort();
    },
  };
}

function invalid(what: string, cause?: unknown): ProtocolError {
  return new ProtocolError(`invalid server reflection response: ${what}`, {
    code: Code.Internal,
    advice: "Provide the definitions with --proto.",
    cause,
  });
}

async function listServices({ ask }: Conversation): Promise<string[]> {
  const answer = await ask({ case: "listServices", value: "" });
  if (answer.case !== "listServicesResponse") {
    throw invalid("the response is not a list of services");
  }
  const names = answer.value.service.map(({ name }) => name);
  if (names.length > MAX_SERVICES) {
    throw invalid(`there are more than ${MAX_SERVICES} services`);
  }
  for (const name of names) {
    assertName(name, FULL_NAME);
  }
  const isReflection = (name: string) => name === ServerReflection.typeName || name === ServerReflectionAlpha.typeName;
  return names.filter((name) => !isReflection(name));
}

function assertName(name: string, form: RegExp): void {
  if (name.length > MAX_NAME || !form.test(name)) {
    throw invalid(`${quoted(name)} is not a name`);
  }
}

/** Reads the files of services and all that they import, each file once. */
async function readFiles(
  { ask }: Conversation,
  services: readonly string[],
): Promise<Map<string, FileDescriptorProto>> {
  const files = new Map<string, FileDescriptorProto>();
  const contents = new Map<string, Buffer>();
  let size = 0;
  const add = (bytes: Uint8Array) => {
    size += bytes.length;
    if (size > MAX_FILES_BYTES) {
      throw invalid(`its files exceed ${MAX_FILES_BYTES} bytes`);
    }
    const file = parseFile(bytes);
    const before = contents.get(file.name);
    if (before !== undefined && !before.equals(bytes)) {
      throw invalid(`two different files have the name ${quoted(file.name)}`);
    }
    contents.set(file.name, Buffer.from(bytes));
    files.set(file.name, file);
    if (files.size > MAX_FILES) {
      throw invalid(`there are more than ${MAX_FILES} files`);
    }
  };
  const read = async (question: Question) => {
    const answer = await ask(question);
    if (answer.case === "fileDescriptorResponse") {
      answer.value.fileDescriptorProto.forEach(add);
    } else if (answer.case !== "errorResponse") {
      throw invalid("the response has no files");
    }
    return answer;
  };
  for (const name of services) {
    const answer = await read({ case: "fileContainingSymbol", value: name });
    if (answer.case === "errorResponse") {
      throw invalid(`${name} is listed but has no file: ${quoted(answer.value.errorMessage)}`);
    }
  }
  // Files are added while they are iterated, so that the imports of each one are read, too.
  for (const { dependency } of files.values()) {
    for (const name of dependency) {
      if (!files.has(name)) {
        await read({ case: "fileByFilename", value: name });
        // Servers may lack files of options that no type needs. If one is needed, the registry says what is missing.
        files.set(name, files.get(name) ?? create(FileDescriptorProtoSchema, { name }));
      }
    }
  }
  return files;
}

function parseFile(bytes: Uint8Array): FileDescriptorProto {
  let file: FileDescriptorProto;
  try {
    file = fromBinary(FileDescriptorProtoSchema, bytes);
  } catch (cause) {
    throw invalid("a file cannot be decoded", cause);
  }
  if (file.name === "" || [file.name, ...file.dependency].some((name) => !/^[\w./+@-]{1,500}$/.test(name))) {
    throw invalid(`invalid file name in ${quoted(file.name)} or its imports`);
  }
  if (file.package !== "") {
    assertName(file.package, FULL_NAME);
  }
  restoreJsonNames(file.messageType);
  file.messageType.forEach(assertMessage);
  file.enumType.forEach(assertEnum);
  for (const { name, method } of file.service) {
    [name, ...method.map((each) => each.name)].forEach(assertSimpleName);
  }
  return file;
}

function assertSimpleName(name: string): void {
  assertName(name, NAME);
}

function assertMessage({ name, field, nestedType, enumType, oneofDecl }: DescriptorProto): void {
  for (const each of [name, ...field.map((one) => one.name), ...oneofDecl.map((one) => one.name)]) {
    assertSimpleName(each);
  }
  for (const { jsonName } of field) {
    if (!/^[\x21-\x7e]{1,500}$/.test(jsonName) || jsonName === "__proto__") {
      throw invalid(`invalid JSON name of a field: ${quoted(jsonName)}`);
    }
  }
  nestedType.forEach(assertMessage);
  enumType.forEach(assertEnum);
}

function assertEnum({ name, value }: EnumDescriptorProto): void {
  [name, ...value.map((each) => each.name)].forEach(assertSimpleName);
}

/** The maximum length of the registry's message in an error, in characters. */
const MAX_MESSAGE = 300;

function withReflected(
  known: Definitions,
  files: ReadonlyMap<string, FileDescriptorProto>,
  services: readonly string[],
): Definitions {
  let registry: ReturnType<typeof createFileRegistry>;
  try {
    registry = createFileRegistry(create(FileDescriptorSetSchema, { file: importsFirst(files) }));
  } catch (cause) {
    throw cause instanceof ProtocolError
      ? cause
      : invalid(truncate(cause instanceof Error ? cause.message : String(cause), MAX_MESSAGE), cause);
  }
  const found = services.map((name) => {
    const service = registry.getService(name);
    if (service === undefined) {
      throw invalid(`${name} is listed but not defined in any file`);
    }
    return service;
  });
  // Later types replace earlier ones of the same name.
  return { services: [...known.services, ...found], registry: createRegistry(registry, known.registry) };
}

/** Returns files in an order in which each one follows those that it imports. */
function importsFirst(files: ReadonlyMap<string, FileDescriptorProto>): FileDescriptorProto[] {
  const ordered = new Set<FileDescriptorProto>();
  const open = new Set<string>();
  const place = (file: FileDescriptorProto): void => {
    if (open.has(file.name)) {
      throw invalid(`the file ${quoted(file.name)} imports itself`);
    }
    open.add(file.name);
    for (const name of file.dependency) {
      const imported = files.get(name);
      if (imported !== undefined && !ordered.has(imported)) {
        place(imported);
      }
    }
    open.delete(file.name);
    ordered.add(file);
  };
  for (const file of files.values()) {
    if (!ordered.has(file)) {
      place(file);
    }
  }
  return [...ordered];
}
