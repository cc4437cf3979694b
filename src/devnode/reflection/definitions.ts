import { type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

/** A server's definitions, as reflection asks for them. */
export interface Definitions {
  /** The full names of the services, in order. */
  readonly services: readonly string[];
  /** Find a file by its name, such as `vega/vega.proto`. */
  file(name: string): DescFile | undefined;
  /** Find the file that defines a full name: a service, method, message, field, enum, enum value or extension. */
  fileOf(symbol: string): DescFile | undefined;
  /** The extensions of a message, by their numbers; `undefined` where no message has that full name. */
  extensionsOf(message: string): ReadonlyMap<number, DescFile> | undefined;
}

/**
 * Collect the definitions of services: their files, and the files that those import.
 *
 * @param services the services
 * @returns the definitions
 */
export function collectDefinitions(services: readonly DescService[]): Definitions {
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
        // The names of enum values are neighbours of the enum's.
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

/**
 * Serialize a file and all that it imports, but for files that were sent before.
 *
 * @param file the file
 * @param sent the names of the files that were sent before; those of the result are added
 * @returns the files' descriptors, serialized, the file itself first
 */
export function serializeFile(file: DescFile, sent: Set<string>): Uint8Array[] {
  if (sent.has(file.proto.name)) {
    return [];
  }
  sent.add(file.proto.name);
  const imported = file.dependencies.flatMap((dependency) => serializeFile(dependency, sent));
  return [toBinary(FileDescriptorProtoSchema, file.proto), ...imported];
}
