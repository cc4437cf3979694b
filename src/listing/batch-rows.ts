import type { DescMethod, Message } from "@bufbuild/protobuf";

/**
 * Finds out how a listing of a data node counts the records of its pages. `ListGovernanceData` counts each proposal of a
 * batch, and then gives the batch as one record (v0.78.0, `Get` in `datanode/sqlstore/proposals.go`). A page with a batch has fewer
 * records than were asked for, and then says that none follows, or leaves out one that does.
 *
 * @param method the method of the listing
 * @returns how many rows of a page a record takes; `undefined` if it is one for each record
 */
export function rowsOf({ name, parent }: DescMethod): ((record: Message) => number) | undefined {
  if (`${parent.typeName}.${name}` !== "datanode.api.v2.TradingDataService.ListGovernanceData") {
    return undefined;
  }
  return (record) => {
    const proposals: unknown = Reflect.get(record, "proposals");
    return 1 + (Array.isArray(proposals) ? proposals.length : 0);
  };
}
