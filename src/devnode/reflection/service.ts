import type { DescFile, DescService } from "@bufbuild/protobuf";
import { Code, type ConnectRouter } from "@connectrpc/connect";
import { ServerReflection, type ServerReflectionRequest } from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import {
  ServerReflection as ServerReflectionAlpha,
  type ServerReflectionRequest as ServerReflectionRequestAlpha,
} from "../../../gen/grpc/reflection/v1alpha/reflection_pb.js";
import { collectDefinitions, type Definitions, serializeFile } from "./definitions.js";

/** A question. Both versions have the same fields, and only the names of the messages differ. */
type Question = ServerReflectionRequest | ServerReflectionRequestAlpha;

/** The services of reflection itself. */
export const reflectionServices: readonly DescService[] = [ServerReflection, ServerReflectionAlpha];

/**
 * Offer server reflection, in both of its versions: tools such as grpcurl then need no definitions of their own.
 *
 * @param router takes the services of reflection
 * @param services the services that reflection tells of, beside its own
 */
export function offerReflection(router: ConnectRouter, services: readonly DescService[]): void {
  let collected: Definitions | undefined; // Collected when someone asks, as few do.
  const definitions = () => {
    collected ??= collectDefinitions([...services, ...reflectionServices]);
    return collected;
  };
  async function* serverReflectionInfo<Q extends Question>(requests: AsyncIterable<Q>) {
    const sent = new Set<string>();
    for await (const request of requests) {
      const { host, messageRequest } = request;
      yield {
        validHost: host,
        originalRequest: request,
        messageResponse: answer(definitions(), messageRequest, sent),
      };
    }
  }
  router.service(ServerReflection, { serverReflectionInfo: (requests) => serverReflectionInfo(requests) });
  router.service(ServerReflectionAlpha, { serverReflectionInfo: (requests) => serverReflectionInfo(requests) });
}

function answer(definitions: Definitions, asked: Question["messageRequest"], sent: Set<string>) {
  const give = (file: DescFile | undefined, what: string) =>
    file === undefined
      ? failure(Code.NotFound, `there is no ${what}`)
      : {
          case: "fileDescriptorResponse" as const,
          value: { fileDescriptorProto: serializeFile(file, sent) },
        };
  switch (asked.case) {
    case "listServices":
      return {
        case: "listServicesResponse" as const,
        value: { service: definitions.services.map((name) => ({ name })) },
      };
    case "fileByFilename":
      return give(definitions.file(asked.value), `file ${asked.value}`);
    case "fileContainingSymbol":
      return give(definitions.fileOf(asked.value), `symbol ${asked.value}`);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = asked.value;
      const file = definitions.extensionsOf(containingType)?.get(extensionNumber);
      return give(file, `extension ${extensionNumber} of ${containingType}`);
    }
    case "allExtensionNumbersOfType": {
      const extensions = definitions.extensionsOf(asked.value);
      return extensions === undefined
        ? failure(Code.NotFound, `there is no message ${asked.value}`)
        : {
            case: "allExtensionNumbersResponse" as const,
            value: { baseTypeName: asked.value, extensionNumber: [...extensions.keys()] },
          };
    }
    default:
      return failure(Code.InvalidArgument, "the question is none of reflection's");
  }
}

function failure(errorCode: Code, errorMessage: string) {
  return { case: "errorResponse" as const, value: { errorCode, errorMessage } };
}
