import type { DescMethod } from "@bufbuild/protobuf";

/** The full name of a method, such as `datanode.api.v2.TradingDataService/ExportNetworkHistory`. */
export function methodName(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}
