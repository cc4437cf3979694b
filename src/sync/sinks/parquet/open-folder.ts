import { mkdir, readFile, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { Code } from "@connectrpc/connect";
import * as z from "zod";
import { failedWith } from "../../../errors/file-error.js";
import { SinkError } from "../../../errors/index.js";
import { sweepTemporary } from "../../../file/temporary.js";
import type { SinkOpening } from "../../sink.js";
import { otherChain } from "../duckdb/ledger.js";
import { writeWhole } from "./durable.js";
import { FORMAT, type Layout, layoutOf, onPath } from "./layout.js";

/** The oldest version of a folder's form that can be used. */
const MIN_FORMAT = 2;

const aboutJson = z.object({ format: z.number(), chain_id: z.string().optional() });

/**
 * Make the folder of a sink ready. The folder is made, the one that it stands in is not.
 *
 * @param path of the folder
 * @param name of the sink, for errors
 * @param opening the chain that it is to hold, and the tables
 * @returns where things are in it
 * @throws {@link RequestError} where it holds another chain; {@link SinkError} where it cannot be written, or is of a
 *   another form
 */
export async function makeFolder(path: string, name: string, { chainId, tables }: SinkOpening): Promise<Layout> {
  await onPath(path, mkdir(path).catch(unlessThere));
  const place = await onPath(path, realpath(path));
  const { about, pending, ledger } = layoutOf(place);
  await onPath(path, mkdir(pending, { recursive: true }));
  await onPath(path, mkdir(ledger, { recursive: true }));
  await sweepTemporary(dirname(about));
  await sweepTemporary(pending);
  await writeWhole(about, `${JSON.stringify({ format: FORMAT, chain_id: chainId })}\n`, "create");
  const { layout, chainId: held } = await folderAt(place, name);
  if (held !== undefined && held !== chainId) {
    throw otherChain(name, held, chainId);
  }
  for (const table of tables) {
    await onPath(path, mkdir(layout.table(table), { recursive: true }));
  }
  return layout;
}

/** Another sync may have made the folder meanwhile. What stands there and is no folder is told when it is used. */
function unlessThere(reason: unknown): void {
  if (!failedWith(reason, "EEXIST")) {
    throw reason;
  }
}

/**
 * Read which chain a folder holds, and in which form.
 *
 * @param path of the folder
 * @param name of the sink, for errors
 * @returns where things are in it, and the chain; no chain where it holds nothing yet
 * @throws {@link SinkError} where it cannot be read, or is of a form that cannot be used
 */
export async function folderAt(
  path: string,
  name: string,
): Promise<{ readonly layout: Layout; readonly chainId?: string | undefined }> {
  const { about } = layoutOf(path);
  try {
    const { format, chain_id } = aboutJson.parse(JSON.parse(await readFile(about, "utf8")));
    if (format < MIN_FORMAT || format > FORMAT) {
      throw otherForm(name, format);
    }
    return { layout: layoutOf(path, format), chainId: chain_id };
  } catch (reason) {
    if (failedWith(reason, "ENOENT") || failedWith(reason, "ENOTDIR")) {
      return { layout: layoutOf(path) };
    }
    return await onPath(about, Promise.reject(reason));
  }
}

function otherForm(name: string, format: number): SinkError {
  const [how, advice] =
    format < MIN_FORMAT
      ? [
          "whose amounts are text, and this release writes numbers",
          "Nothing was changed, and its files can be read as before. Sync into a new folder: one column never has two types.",
        ]
      : ["which this release does not know", "Install a newer release."];
  return new SinkError(`${name} has the form ${format}, ${how}`, { code: Code.FailedPrecondition, advice });
}
