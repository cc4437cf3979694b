import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileError } from "../../errors/file-error.js";
import type { SavedFile } from "../../file/save-whole.js";
import { sweepTemporary, temporaryName } from "../../file/temporary.js";
import type { PartPlan, RangePart } from "./part-plan.js";

/** Where the parts of an export are until they are joined. Disposing of it ends its use. */
export interface PartFolder extends AsyncDisposable {
  /**
   * Begin an export.
   *
   * @param plan how its range was cut
   * @throws {@link RequestError} where the folder holds parts of something else
   */
  begin(plan: PartPlan): Promise<void>;
  /**
   * Find a part that an earlier run has fetched.
   *
   * @param part the part
   * @param signal ends the reading
   * @returns whether it is there, with the bytes that were checked then
   */
  has(part: RangePart, signal: AbortSignal): Promise<boolean>;
  /** Say where the archive of a part is, or has to go. */
  pathOf(part: RangePart): string;
  /** Take note of a part that was fetched and checked. */
  add(part: RangePart, saved: SavedFile): Promise<void>;
  /** Take note that parts cannot be joined, so that they are fetched again. */
  reject(parts: readonly RangePart[]): Promise<void>;
  /** Take note that a part was joined. */
  joined(part: RangePart): Promise<void>;
  /** Take note that the whole archive is written, and about to take its name. */
  written(saved: SavedFile): Promise<void>;
  /**
   * Find the whole archive, where an earlier run was ended behind giving it its name.
   *
   * @param target the folder or file that is written to
   * @param signal ends the reading
   * @returns the file; `undefined` where there is none
   */
  whole(target: string, signal: AbortSignal): Promise<SavedFile | undefined>;
  /** Remove the parts: the archive is whole. */
  finish(): Promise<void>;
}

/**
 * Make a temporary folder for parts. A part is removed once it was joined, and the folder with what is left when it is
 * disposed of. That of a process that was killed is removed as `saveWhole` says.
 *
 * @param beside the folder in which it is made
 * @returns the folder
 * @throws {@link FileError} where it cannot be made
 */
export async function temporaryParts(beside: string): Promise<PartFolder> {
  await sweepTemporary(beside);
  const folder = join(beside, await temporaryName());
  await mkdir(folder).catch((reason: unknown) => {
    throw fileError(reason, beside);
  });
  const pathOf = (part: RangePart) => join(folder, partName(part));
  const nothing = async () => undefined;
  return {
    begin: nothing,
    has: async () => false,
    pathOf,
    add: nothing,
    reject: nothing,
    joined: (part) => rm(pathOf(part), { force: true }).catch(nothing), // It goes with the folder.
    written: nothing,
    whole: nothing,
    finish: nothing,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }).catch(nothing),
  };
}

/**
 * Name the archive of a part.
 *
 * @param part the part
 * @returns the name of its file
 */
export function partName({ fromBlock, toBlock }: Pick<RangePart, "fromBlock" | "toBlock">): string {
  return `tradewire-part-${fromBlock}-${toBlock}.zip`;
}
