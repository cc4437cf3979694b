import { createHash, randomBytes } from "node:crypto";
import { create, fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { type SeedSigner, signerFromSeed, solveProofOfWork as solve, transactionHash } from "tradewire";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { InputDataSchema, type Transaction, TransactionSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { ErrorDetailSchema } from "tradewire/gen/vega/vega_pb.js";
import { chainPrefix } from "../support/transactions.js";

/** How a transaction of a recorded case is made; `docs` of the members are in `recorded/README.md`. */
export interface Recipe {
  /** The transaction's name: a later case that gives only `id` sends the same bytes again. */
  readonly id: string;
  /** The command as the Protobuf JSON of `vega.commands.v1.InputData`; `updatePartyProfile` where it is left out. */
  readonly command?: JsonValue;
  /** Whose key signs: the name of a party; `party` where it is left out. */
  readonly by?: string;
  /** The transaction that this one shares members with. */
  readonly like?: string;
  /** What it shares: its `tid`, the input data's `nonce`, or the block. */
  readonly shares?: readonly ("tid" | "nonce" | "block")[];
  /**
   * The block that it is tied to, where that is not the last one: that of a height, so many blocks ahead of the last one, or
   * so many after the youngest that is too old.
   */
  readonly block?: { readonly height: number } | { readonly ahead: number } | { readonly old: number };
  readonly version?: number;
  readonly wrong?: readonly Mistake[];
}

/** What is wrong with a transaction. */
export type Mistake =
  | "proof"
  | "no proof"
  | "signature"
  | "prefix submitted"
  | "no signature"
  | "algorithm"
  | "no sender"
  | "sender"
  | "no input data"
  | "garbled input data"
  | "no nonce";

/** A recorded call that submits or checks a transaction, or asks for statistics. */
export interface SubmissionCase {
  readonly name: string;
  /** Whether a block is made right before the call. */
  readonly block?: boolean;
  readonly method: (typeof METHODS)[number];
  readonly transaction?: Recipe;
  /** The rest of the request, as Protobuf JSON. */
  readonly request?: Readonly<Record<string, string>>;
  readonly answer?: JsonValue;
  readonly error?: JsonValue;
}

const METHODS = [
  "vega.api.v1.CoreService/SubmitTransaction",
  "vega.api.v1.CoreService/SubmitRawTransaction",
  "vega.api.v1.CoreService/CheckTransaction",
  "vega.api.v1.CoreService/CheckRawTransaction",
  "vega.api.v1.CoreService/GetSpamStatistics",
] as const;

/** A node that cases are played against. */
export interface Played {
  readonly transport: Transport;
  /** Waits for, or makes, the next block. */
  readonly nextBlock: () => Promise<unknown>;
  /** Identifiers by the names that the cases have for them, such as `$market`. */
  readonly names: Readonly<Record<string, string>>;
  /** The keys of parties by name; others are new ones. */
  readonly signers?: Readonly<Record<string, SeedSigner>>;
}

/** The number of the type of submissions that are answered when the block is made. */
const COMMIT = "3";

/** The answer or the error of a call. */
export type Answer = { readonly answer: JsonValue } | { readonly error: JsonValue };

/** Prepare to play cases against a node, one after the other. */
export function submissionPlayer({ transport, nextBlock, names, signers: given = {} }: Played) {
  const client = createClient(CoreService, transport);
  const signers = new Map(Object.entries(given));
  const made = new Map<string, Transaction>();
  const signerOf = (name: string) => {
    const signer = signers.get(name) ?? signerFromSeed(randomBytes(32));
    signers.set(name, signer);
    return signer;
  };

  async function transactionOf(recipe: Recipe): Promise<Transaction> {
    const transaction = made.get(recipe.id) ?? (await craft(client, { recipe, made, names, signerOf }));
    made.set(recipe.id, transaction);
    return transaction;
  }

  return async ({ method, transaction: recipe, request = {}, block = false }: SubmissionCase): Promise<Answer> => {
    const tx = recipe === undefined ? undefined : await transactionOf(recipe);
    if (block) {
      await nextBlock();
    }
    const named = namesIn([
      ...Object.entries(names),
      ...[...signers].map(([name, { publicKey }]) => [`$${name}`, publicKey] as const),
      ...(tx === undefined
        ? []
        : [["$hash", hashOf(method, tx)] as const, ["$lowerCaseHash", hashOf(method, tx).toLowerCase()] as const]),
    ]);
    try {
      const keyOf = (id: string) => signers.get(id)?.publicKey ?? id;
      const called = call(client, method, { ...request, ...(tx && { tx }) }, keyOf);
      if (request["type"] === COMMIT && tx !== undefined) {
        await client.getVegaTime({}); // Calls over one connection come in their order.
        await nextBlock();
      }
      const answer = await called;
      return { answer: named(answer) };
    } catch (reason) {
      return { error: named(errorOf(reason)) };
    }
  };
}

/** The hash that the network gives a transaction: it serializes a message again, and takes bytes as they are. */
function hashOf(method: SubmissionCase["method"], tx: Transaction): string {
  return method.includes("Raw")
    ? createHash("sha256").update(toBinary(TransactionSchema, tx)).digest("hex").toUpperCase()
    : transactionHash(tx);
}

/** Replaces what differs from run to run: identifiers by their names, and heights and hashes of blocks. */
function namesIn(known: readonly (readonly [name: string, id: string])[]): (value: JsonValue) => JsonValue {
  return (value) => {
    const text = known.reduce((named, [name, id]) => named.replaceAll(id, name), JSON.stringify(value));
    return JSON.parse(
      text
        .replaceAll(/"height":"[1-9]\d*"/g, '"height":"$height"')
        .replaceAll(/"blockHeight":"\d+"/g, '"blockHeight":"$height"')
        .replaceAll(/"blockHash":"[0-9a-f]{64}"/g, '"blockHash":"$blockHash"')
        .replaceAll("\u00a0", " ")
        .replaceAll("3AC2A0", "3A20"), // A build of the network's Protobuf writes one or the other behind "proto:".
    );
  };
}

type CallRequest = { readonly tx?: Transaction; readonly [member: string]: string | Transaction | undefined };

async function call(
  client: Client<typeof CoreService>,
  name: SubmissionCase["method"],
  { tx, raw, type, party }: CallRequest,
  keyOf: (party: string) => string,
): Promise<JsonValue> {
  const bytes = typeof raw === "string" ? Buffer.from(raw, "hex") : tx ? toBinary(TransactionSchema, tx) : Buffer.of();
  const number = Number(type ?? 2);
  const { output } = CoreService.methods.find((method) => name.endsWith(`/${method.name}`)) ?? {};
  const answer = async () => {
    switch (name) {
      case "vega.api.v1.CoreService/SubmitTransaction":
        return client.submitTransaction({ ...(tx && { tx }), type: number });
      case "vega.api.v1.CoreService/SubmitRawTransaction":
        return client.submitRawTransaction({ tx: bytes, type: number });
      case "vega.api.v1.CoreService/CheckTransaction":
        return client.checkTransaction(tx ? { tx } : {});
      case "vega.api.v1.CoreService/CheckRawTransaction":
        return client.checkRawTransaction({ tx: bytes });
      case "vega.api.v1.CoreService/GetSpamStatistics":
        return client.getSpamStatistics({ partyId: keyOf(String(party ?? "")) });
    }
  };
  const message = await answer();
  if (output === undefined) {
    throw new Error(`there is no method ${name}`);
  }
  return toJson(output, message, { alwaysEmitImplicit: true });
}

/** An error as recordings have it. */
function errorOf(reason: unknown): JsonValue {
  const error = ConnectError.from(reason, Code.Unknown);
  return {
    code: error.code,
    message: error.rawMessage,
    details: error
      .findDetails(ErrorDetailSchema)
      .map(({ code: number, message, inner }) => ({ code: number, message, inner })),
  };
}

interface Materials {
  readonly recipe: Recipe;
  readonly made: ReadonlyMap<string, Transaction>;
  readonly names: Readonly<Record<string, string>>;
  readonly signerOf: (name: string) => SeedSigner;
}

/** Make a transaction by its recipe, right or wrong. */
async function craft(
  client: Client<typeof CoreService>,
  { recipe, made, names, signerOf }: Materials,
): Promise<Transaction> {
  const { command = { updatePartyProfile: { alias: recipe.id } }, by = "party", wrong = [], shares = [] } = recipe;
  const last = await client.lastBlockHeight({});
  const other = made.get(recipe.like ?? "");
  const otherData = other && fromBinary(InputDataSchema, other.inputData);
  const height = heightOf(recipe, last.height, last.spamPowNumberOfPastBlocks);
  const blockHeight = shares.includes("block") && otherData ? otherData.blockHeight : height;
  const replaced = (text: string) =>
    text.replace(/\$[\w ]+/g, (name) => names[name] ?? signerOf(name.slice(1)).publicKey);
  const { command: parsed } = fromJson(InputDataSchema, JSON.parse(replaced(JSON.stringify(command))));
  const nonce =
    shares.includes("nonce") && otherData ? otherData.nonce : BigInt(`0x${randomBytes(8).toString("hex")}`) | 1n;
  const inputData = wrong.includes("no input data")
    ? new Uint8Array()
    : wrong.includes("garbled input data")
      ? Buffer.from("0aff", "hex")
      : toBinary(
          InputDataSchema,
          create(InputDataSchema, { nonce: wrong.includes("no nonce") ? 0n : nonce, blockHeight, command: parsed }),
        );
  const version = recipe.version ?? 3;
  const prefix = version === 3 ? chainPrefix(last.chainId) : new Uint8Array();
  const message = Buffer.concat([prefix, inputData]);
  const signer = signerOf(by);
  const signed = await signer.sign(wrong.includes("signature") ? Buffer.from("other") : message);
  const tid = shares.includes("tid") && other?.pow ? other.pow.tid : randomBytes(32).toString("hex").toUpperCase();
  const difficulty = wrong.includes("proof") ? 1 : last.spamPowDifficulty;
  const startNonce = wrong.includes("proof") ? 1_000_000n : 0n;
  const { nonce: found } = await solve({ blockHash: last.hash, tid, difficulty, startNonce });
  return create(TransactionSchema, {
    inputData: wrong.includes("prefix submitted") ? message : inputData,
    ...(!wrong.includes("no signature") && {
      signature: {
        value: Buffer.from(signed).toString("hex"),
        algo: wrong.includes("algorithm") ? "vega/rsa" : "vega/ed25519",
        version: 1,
      },
    }),
    ...(!wrong.includes("no sender") && {
      from: { case: "pubKey", value: wrong.includes("sender") ? "ab" : signer.publicKey },
    }),
    version,
    ...(!wrong.includes("no proof") && { pow: { tid, nonce: found } }),
  });
}

function heightOf({ block }: Recipe, last: bigint, pastBlocks: number): bigint {
  if (block === undefined) {
    return last;
  }
  if ("height" in block) {
    return BigInt(block.height);
  }
  return "ahead" in block ? last + BigInt(block.ahead) : last - BigInt(pastBlocks) + BigInt(block.old);
}
