import { type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter } from "@connectrpc/connect";
import { ServerReflection, type ServerReflectionRequest } from "../../gen/grpc/reflection/v1/reflection_pb.js";
import {
  ServerReflection as ServerReflectionAlpha,
  type ServerReflectionRequest as ServerReflectionRequestAlpha,
} from "../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { Code } from "../base/errors/code.js";

/** A request of either version. Both have the same fields, and differ only in the names of the messages. */
type ReflectionRequest = ServerReflectionRequest | ServerReflectionRequestAlpha;

export const reflectionServices: readonly DescService[] = [ServerReflection, ServerReflectionAlpha];

/** Adds server reflection in both of its versions, so that tools such as grpcurl need no definitions. */
export function addReflection(router: ConnectRouter, services: readonly DescService[]): void {
  let collected: ReflectedDefinitions | undefined; // Lazy, since few clients use reflection.
  const definitions = () => {
    collected ??= collectDefinitions([...services, ...reflectionServices]);
    return collected;
  };
  async function* serverReflectionInfo<Q extends ReflectionRequest>(requests: AsyncIterable<Q>) {
    const sent = new Set<string>();
    for await (const request of requests) {
      const { host, messageRequest } = request;
      yield {
        validHost: host,
        originalRequest: request,
        messageResponse: respond(definitions(), messageRequest, sent),
      };
    }
  }
  router.service(ServerReflection, { serverReflectionInfo: (requests) => serverReflectionInfo(requests) });
  router.service(ServerReflectionAlpha, { serverReflectionInfo: (requests) => serverReflectionInfo(requests) });
}

function respond(definitions: ReflectedDefinitions, request: ReflectionRequest["messageRequest"], sent: Set<string>) {
  const fileResponse = (file: DescFile | undefined, what: string) =>
    file === undefined
      ? errorResponse(Code.NotFound, `${what} not found`)
      : {
          case: "fileDescriptorResponse" as const,
          value: { fileDescriptorProto: serializeFile(file, sent) },
        };
  switch (request.case) {
    case "listServices":
      return {
        case: "listServicesResponse" as const,
        value: { service: definitions.services.map((name) => ({ name })) },
      };
    case "fileByFilename":
      return fileResponse(definitions.file(request.value), `file ${request.value}`);
    case "fileContainingSymbol":
      return fileResponse(definitions.fileOf(request.value), `symbol ${request.value}`);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = request.value;
      const file = definitions.extensionsOf(containingType)?.get(extensionNumber);
      return fileResponse(file, `extension ${extensionNumber} of ${containingType}`);
    }
    case "allExtensionNumbersOfType": {
      const extensions = definitions.extensionsOf(request.value);
      return extensions === undefined
        ? errorResponse(Code.NotFound, `message ${request.value} not found`)
        : {
            case: "allExtensionNumbersResponse" as const,
            value: { baseTypeName: request.value, extensionNumber: [...extensions.keys()] },
          };
    }
    default:
      return errorResponse(Code.InvalidArgument, "the request has no known message_request");
  }
}

function errorResponse(errorCode: Code, errorMessage: string) {
  return { case: "errorResponse" as const, value: { errorCode, errorMessage } };
}

interface ReflectedDefinitions {
  /** The full names of the services, in order. */
  readonly services: readonly string[];
  /** Returns a file by its name, such as `vega/vega.proto`. */
  file(name: string): DescFile | undefined;
  /** Returns the file that defines a full name of a service, method, message, field, enum, enum value or extension. */
  fileOf(symbol: string): DescFile | undefined;
  /** Returns the extensions of a message by number; `undefined` if no message has that full name. */
  extensionsOf(message: string): ReadonlyMap<number, DescFile> | undefined;
}

/** Collects the definitions of services: their files, and all imported files. */
function collectDefinitions(services: readonly DescService[]): ReflectedDefinitions {
  const files = new Map<string, DescFile>();
  const symbols = new Map<string, DescFile>();
  const extensions = new Map<string, Map<number, DescFile>>();

  function add(file: DescFile): void {
    if (files.has(file.proto.name)) {
      return;
    }
    files.set(file.proto.name, file);
    file.dependencies.forEach(add);
    for (const type of nestedTypes(file)) {
      symbols.set(type.typeName, file);
      if (type.kind === "message") {
        for (const { name } of [...type.fields, ...type.oneofs]) {
          symbols.set(`${type.typeName}.${name}`, file);
        }
        extensions.set(type.typeName, extensions.get(type.typeName) ?? new Map());
      } else if (type.kind === "service") {
        for (const { name } of type.methods) {
          symbols.set(`${type.typeName}.${name}`, file);
        }
      } else if (type.kind === "enum") {
        // Enum values are in the scope of their enum, not in the enum.
        const scope = type.typeName.slice(0, type.typeName.lastIndexOf(".") + 1);
        for (const { name } of type.values) {
          symbols.set(`${scope}${name}`, file);
        }
      } else {
        const { typeName } = type.extendee;
        extensions.set(typeName, (extensions.get(typeName) ?? new Map()).set(type.number, file));
      }
    }
  }

  for (const { file } of services) {
    add(file);
  }
  return {
    services: services.map(({ typeName }) => typeName).toSorted(),
    file: (name) => files.get(name),
    fileOf: (symbol) => symbols.get(symbol),
    extensionsOf: (message) => extensions.get(message),
  };
}

/** Serializes a file and its imports, except for files that were sent before. */
function serializeFile(file: DescFile, sent: Set<string>): Uint8Array[] {
  if (sent.has(file.proto.name)) {
    return [];
  }
  sent.add(file.proto.name);
  const imported = file.dependencies.flatMap((dependency) => serializeFile(dependency, sent));
  return [toBinary(FileDescriptorProtoSchema, file.proto), ...imported];
}
