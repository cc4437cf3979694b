import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { quotedPath } from "../../errors/file-error.js";
import { RequestError } from "../../errors/index.js";
import { cut } from "../../errors/quoted.js";

/** The longest time that compiling takes, in milliseconds: remote dependencies may have to be fetched. */
const COMPILE_TIMEOUT_MS = 60_000;

/** The most characters of the compiler's complaint that are shown. */
const MAX_COMPLAINT = 1000;

/**
 * Compile a folder of `.proto` files with buf: that of the search path, else the package `@bufbuild/buf` where it is
 * installed.
 *
 * @param folder the folder, with a `buf.yaml` or without
 * @param maxBytes the largest image that is taken, in bytes
 * @param signal ends the compiling
 * @returns the image
 * @throws {@link RequestError} if there is no buf, or it cannot compile the folder
 */
export async function compileFolder(folder: string, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  for (const [program, ...args] of compilers()) {
    const image = await run(program, [...args, "build", "--output", "-"], { folder, maxBytes, signal });
    if (image !== undefined) {
      return image;
    }
  }
  throw new RequestError(`${quotedPath(folder)} has to be compiled, but there is no buf`, {
    advice:
      "Install it (`npm install --save-dev @bufbuild/buf`), or make an image elsewhere (`buf build -o image.binpb`) and give that.",
  });
}

/** The programs to try, each with its first arguments. */
function compilers(): [program: string, ...args: string[]][] {
  try {
    const installed = createRequire(join(process.cwd(), "package.json")).resolve("@bufbuild/buf/bin/buf");
    return [["buf"], [process.execPath, installed]];
  } catch {
    return [["buf"]];
  }
}

/** Run a compiler; undefined if there is no such program. */
function run(
  program: string,
  args: readonly string[],
  { folder, maxBytes, signal }: { readonly folder: string; readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<Buffer | undefined> {
  const options = {
    cwd: folder,
    timeout: COMPILE_TIMEOUT_MS,
    maxBuffer: maxBytes,
    signal,
    encoding: "buffer",
  } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(program, [...args], options, (error, image, complaint) => {
      if (error === null) {
        resolve(image);
      } else if (error.code === "ENOENT") {
        resolve(undefined);
      } else {
        reject(refusal(folder, error, complaint.toString()));
      }
    });
    child.stdin?.end();
  });
}

function refusal(folder: string, error: Error, complaint: string): RequestError {
  const isOurs = "killed" in error && error.killed === true;
  const why = isOurs ? `it did not end within ${COMPILE_TIMEOUT_MS / 1000} s` : complaint.trim() || error.message;
  return new RequestError(
    `buf cannot compile ${quotedPath(folder)}: ${cut(why.replace(/\s*\n\s*/g, "; "), MAX_COMPLAINT)}`,
    {
      advice: "Correct the definitions; `buf build` in that folder says the same.",
      cause: error,
    },
  );
}
