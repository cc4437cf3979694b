import { createHash } from "node:crypto";

/** A market of the local node that is active, and trades continuously. */
export const openMarket = createHash("sha256").update("market:0").digest("hex");

/** An asset of the local node that its own keys have a balance of. */
export const ownAsset = createHash("sha256").update("asset:0").digest("hex");
