import { createHash } from "node:crypto";
import { AccountType } from "../../../gen/vega/vega_pb.js";

/** The owner of the accounts of the network itself, as the data node tells it. */
export const NETWORK = "network";

/** What tells an account from others. */
export interface AccountKey {
  /** A public key, or {@link NETWORK}. */
  readonly owner: string;
  readonly asset: string;
  /** Empty for an account of no market. */
  readonly marketId: string;
  readonly type: AccountType;
}

/**
 * Make the identifier of an account: the SHA-256 hash of the text `OWNER ASSET MARKET TYPE`, with the name of the type
 * as {@link AccountType} has it, such as `GENERAL`, and nothing between two spaces where there is no market.
 *
 * @param key what tells the account from others
 * @returns 64 hex digits in lower case
 * @example accountId({ owner: party, asset, marketId: "", type: AccountType.GENERAL })
 */
export function accountId(key: AccountKey): string {
  return createHash("sha256").update(accountName(key)).digest("hex");
}

/** The text that {@link accountId} hashes. */
export function accountName({ owner, asset, marketId, type }: AccountKey): string {
  return `${owner} ${asset} ${marketId} ${AccountType[type]}`;
}
