import { parse } from "content-disposition";
import type { TableName } from "../schema/tables.js";
import { archiveName, parseArchiveName } from "./names.js";

/** What was exported. */
export interface ExportedRange {
  readonly table: TableName;
  readonly fromBlock: bigint;
  readonly toBlock: bigint;
}

/**
 * The name to save an archive under: the node's, from `content-disposition`, where that is the plain name of an archive of
 * this table and range; else one made of what was asked for, with `network` in the chain's place.
 */
export function fileNameFor(header: Headers, exported: ExportedRange): string {
  const given = givenName(header.get("content-disposition"));
  const name = given === undefined ? undefined : parseArchiveName(given);
  const fits =
    name?.table === exported.table && name.fromBlock === exported.fromBlock && name.toBlock === exported.toBlock;
  return given !== undefined && fits ? given : archiveName({ chainId: "network", ...exported });
}

function givenName(header: string | null): string | undefined {
  try {
    return header === null ? undefined : parse(header).parameters["filename"];
  } catch {
    return undefined; // Not a content-disposition at all.
  }
}
