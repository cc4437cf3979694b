import { clone, create, type DescFile, type DescService } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, type FileDescriptorSet, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

/**
 * Returns the definitions of services as they are without HTTP rules, with all that they import.
 *
 * @param services the services
 * @returns a descriptor set whose methods have no options
 */
export function unannotated(services: readonly DescService[]): FileDescriptorSet {
  const files = new Set<DescFile>();
  const add = (file: DescFile): void => {
    if (!files.has(file)) {
      file.dependencies.forEach(add);
      files.add(file);
    }
  };
  for (const { file } of services) {
    add(file);
  }
  const protos = [...files].map(({ proto }) => {
    const copy = clone(FileDescriptorProtoSchema, proto);
    for (const method of copy.service.flatMap((service) => service.method)) {
      delete method.options;
    }
    return copy;
  });
  return create(FileDescriptorSetSchema, { file: protos });
}
