import type { DescMethod } from "@bufbuild/protobuf";

/**
 * Name a method in full.
 *
 * @param method the method's descriptor
 * @returns the name, such as `datanode.api.v2.TradingDataService/ExportNetworkHistory`
 */
export function methodName(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}
