import { createHash } from "node:crypto";

/** A market of the local node that is active, and trades continuously. */
export const openMarket = createHash("sha256").update("market:0").digest("hex");
