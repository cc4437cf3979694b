import { contentDispositionName } from "../../base/file/given-name.js";
import type { Profile } from "../../base/profile.js";
import { archiveName, type ExportedRange, parseArchiveName } from "../archive/export-names.js";

// Not for a file to save: names that are hidden or look like an option, and characters that hide or reorder text.
const unsuitable = /^[-.]|[\p{Cf}\p{Zl}\p{Zp}]/u;

/**
 * Chooses the file name of an archive. It is the node's name, from `content-disposition`, if that is the name of an
 * archive of this table and range. Otherwise it consists of the table and range, with `network` as the chain id.
 */
export function fileNameFor(header: Headers, exported: ExportedRange, profile?: Profile): string {
  return nodeName(header, exported)?.given ?? archiveName({ ...exported, chainId: "network" }, profile);
}

/** Reads the chain id from the node's name for an archive, if that is the name of this table and range. */
export function chainOf(header: Headers, exported: ExportedRange): string | undefined {
  return nodeName(header, exported)?.name.chainId;
}

function nodeName(header: Headers, { table, fromBlock, toBlock }: ExportedRange) {
  const given = contentDispositionName(header);
  const name = given === undefined ? undefined : parseArchiveName(given);
  const fits = name?.table === table && name.fromBlock === fromBlock && name.toBlock === toBlock;
  return given !== undefined && name !== undefined && fits && !unsuitable.test(given) ? { given, name } : undefined;
}
