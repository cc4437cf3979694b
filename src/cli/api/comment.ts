import type {
  DescEnum,
  DescEnumValue,
  DescField,
  DescFile,
  DescMessage,
  DescMethod,
  DescService,
} from "@bufbuild/protobuf";

type Commented = DescService | DescMethod | DescMessage | DescField | DescEnum | DescEnumValue;

/**
 * Find the comment of an element. Images hold comments, generated code does not.
 *
 * @param desc the element's descriptor
 * @returns the comment before the element, or else behind it, on one line; empty where there is none
 */
export function commentOf(desc: Commented): string {
  const path = pathOf(desc).join();
  const location = fileOf(desc).proto.sourceCodeInfo?.location.find((found) => found.path.join() === path);
  return (location?.leadingComments || location?.trailingComments || "").trim().replace(/\s+/g, " ");
}

function fileOf(desc: Commented): DescFile {
  return "file" in desc ? desc.file : fileOf(desc.parent);
}

/** Where an element stands in its file: numbers of fields of `descriptor.proto`, and places in them. */
function pathOf(desc: Commented): number[] {
  switch (desc.kind) {
    case "service":
      return [6, desc.file.proto.service.indexOf(desc.proto)];
    case "rpc":
      return [...pathOf(desc.parent), 2, desc.parent.proto.method.indexOf(desc.proto)];
    case "message":
      return desc.parent === undefined
        ? [4, desc.file.proto.messageType.indexOf(desc.proto)]
        : [...pathOf(desc.parent), 3, desc.parent.proto.nestedType.indexOf(desc.proto)];
    case "enum":
      return desc.parent === undefined
        ? [5, desc.file.proto.enumType.indexOf(desc.proto)]
        : [...pathOf(desc.parent), 4, desc.parent.proto.enumType.indexOf(desc.proto)];
    case "field":
      return [...pathOf(desc.parent), 2, desc.parent.proto.field.indexOf(desc.proto)];
    case "enum_value":
      return [...pathOf(desc.parent), 2, desc.parent.proto.value.indexOf(desc.proto)];
  }
}
