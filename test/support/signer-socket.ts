import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "@jest/globals";
import { run } from "./command.js";
import { openMarket } from "./devnode.js";
import { writePrivately } from "./private-file.js";

/** The folder of a test in which a signer listens. */
export interface SignerFolder {
  readonly folder: string;
  /** The path of the socket for programs. */
  readonly socket: string;
  /** The path of the operator's socket. */
  readonly admin: string;
}

/** Creates a folder before each test of a file, and removes it afterwards. */
export function useSignerFolder(): SignerFolder {
  let folder = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "tradewire-signer-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  return {
    get folder() {
      return folder;
    },
    get socket() {
      return join(folder, "s.sock");
    },
    get admin() {
      return join(folder, "admin.sock");
    },
  };
}

/** Writes an order of a size, and submits it with the command, through a signer. */
export async function submitOrder(
  { folder, socket }: SignerFolder,
  { grpcUrl }: { readonly grpcUrl: string },
  size: string,
  ...more: readonly string[]
) {
  const orderSubmission = { marketId: openMarket, price: "1", size, side: 1, timeInForce: 1, type: 1 };
  const file = await writePrivately(folder, `${size}.json`, JSON.stringify({ orderSubmission }));
  return run(["submit", file, "--signer", socket, "--grpc-url", grpcUrl, ...more]);
}
