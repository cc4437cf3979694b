import type { DescEnum } from "@bufbuild/protobuf";

/**
 * Give the names that the database keeps enum values by.
 *
 * @param schema the enum
 * @param numbers its values
 * @returns their names, such as `STATUS_ACTIVE`; the digits of a value that the enum does not have, which no row has
 */
export function enumNames(schema: DescEnum, numbers: readonly number[]): string[] {
  return numbers.map((number) => schema.value[number]?.name ?? String(number));
}
