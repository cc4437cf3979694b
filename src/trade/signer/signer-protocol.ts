import * as v from "valibot";
import { integer, jsonObject, strictObject } from "../../base/input/schemas.js";
import { GUARD_MODES } from "../guard/policy.js";

// Programs and a signer process exchange JSON over HTTP/1.1 on a Unix socket. Both sides check what the other one sends.

/** The paths of the requests. */
export const PATHS = {
  /** GET: the public key, the chain and the mode. */
  signer: "/v1/signer",
  /** POST: signs a message. */
  sign: "/v1/sign",
  /** POST: takes a share of a block's allowance. */
  shares: "/v1/shares",
  /** POST: returns a share. */
  returns: "/v1/returns",
  /** POST: sets the mode. */
  mode: "/v1/mode",
  /** POST: the kill switch. */
  kill: "/v1/kill",
} as const;

/** Maximum size of a message to sign: that of a transaction (CometBFT 0.38, `max_tx_bytes`, 1 MiB by default). */
export const MAX_MESSAGE_BYTES = 1024 * 1024;

/** Maximum size of a request's body: a message in base64, and the names around it. */
export const MAX_REQUEST_BYTES = Math.ceil(MAX_MESSAGE_BYTES / 3) * 4 + 1024;

/** Maximum size of a response's body: a report of the kill switch with some 200,000 orders. */
export const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

const mode = v.picklist(GUARD_MODES);
const publicKey = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "must be a public key of 64 lowercase hex digits"));
const ids = v.array(v.string());
const shareId = v.pipe(v.string(), v.regex(/^[0-9a-f-]{36}$/, "must be the ID of a share"));

/** The bodies of requests. */
export const requests = {
  sign: strictObject({ publicKey, message: v.string() }),
  shares: strictObject({
    publicKey,
    hash: v.pipe(v.string(), v.regex(/^[0-9a-fA-F]{64}$/, "must be a block hash of 64 hex digits")),
    height: v.pipe(v.string(), v.regex(/^\d{1,19}$/, "must be a block height as a string")),
  }),
  returns: strictObject({ id: shareId }),
  mode: strictObject({ mode }),
  kill: strictObject({}),
} as const;

/** The bodies of responses. */
export const responses = {
  signer: jsonObject({ publicKey, chainId: v.pipe(v.string(), v.maxLength(50)), mode }),
  sign: jsonObject({ signature: v.pipe(v.string(), v.regex(/^[0-9a-f]{128}$/)) }),
  shares: jsonObject({
    share: v.nullable(jsonObject({ id: shareId, count: integer(0, Number.MAX_SAFE_INTEGER, "must be a count") })),
  }),
  returns: jsonObject({}),
  mode: jsonObject({ mode }),
  kill: jsonObject({
    report: jsonObject({
      isClear: v.boolean(),
      cancellations: jsonObject({ sent: v.number(), executed: v.number() }),
      orders: v.optional(ids),
      stopOrders: v.optional(ids),
      unseen: v.number(),
      positions: v.optional(v.record(v.string(), v.string())),
      problems: v.array(v.string()),
    }),
  }),
} as const;
