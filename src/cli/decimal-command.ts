import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type InputData, InputDataSchema } from "../../gen/vega/commands/v1/transaction_pb.js";
import { CommandError, RequestError } from "../base/errors/index.js";
import type { Client, MarketUnits } from "../index.js";
import { parseByRules } from "../trade/market/decimal.js";
import { ownersIn, unitOf } from "../trade/market/field-units.js";
import { isJsonObject } from "../wire/json/json-values.js";
import { type CommandContext, printable } from "./output.js";
import { readableJson } from "./records/readable.js";
import { createNames } from "./records/record-names.js";
import { recordLines } from "./table.js";

/** What names the market and the asset in a command in decimals, and in one in the network's integers. */
export const INTEGER_NAMES: ReadonlyMap<string, string> = new Map([
  ["market", "marketId"],
  ["assetSymbol", "asset"],
]);

const FORMS =
  'With marketId or asset, numbers are the network\'s integers; with "market": "M0" or "assetSymbol": "USDT" in its place, they are decimals.';

/** Adds to the error about a command in the network's integers that it could be in decimals, if that may have been meant. */
export function withAdviceOnDecimals(error: CommandError): CommandError {
  const isMeant = error.problems.some(
    ({ path, message }) =>
      (/\.(marketId|asset)$/.test(path) && message.startsWith("must be 64 hex digits")) ||
      /whole number \(got "\d*\.\d+"\)/.test(message),
  );
  return isMeant ? new CommandError(error.problems, `${FORMS} ${error.advice}`) : error;
}

/** Returns whether a command in JSON is in decimals: with `market` in place of `marketId`, or `assetSymbol` in place of `asset`. */
export function isInDecimals(json: JsonValue): boolean {
  return hasMember(json, [...INTEGER_NAMES.keys()]);
}

function hasMember(json: JsonValue, names: readonly string[]): boolean {
  if (Array.isArray(json)) {
    return json.some((each) => hasMember(each, names));
  }
  return (
    isJsonObject(json) && Object.entries(json).some(([name, value]) => names.includes(name) || hasMember(value, names))
  );
}

/** The decimals of the market and the asset that a message, or one around it, names. */
interface Owner {
  readonly units?: MarketUnits;
  readonly assetDecimals?: number | undefined;
}

/**
 * Converts a command in decimals to the network's integers, exactly.
 *
 * @throws {@link RequestError} if a number would have to be rounded, both forms are mixed, or a market or asset is unknown
 */
export async function integerCommand(json: JsonObject, client: Client, context: CommandContext): Promise<JsonObject> {
  if (hasMember(json, [...INTEGER_NAMES.values()])) {
    throw new RequestError("the file names markets or assets in both forms", {
      advice: "With decimals, use market and assetSymbol; with the network's integers, marketId and asset.",
    });
  }
  const { signal } = context;
  const names = createNames(client, {}, context);

  async function ownerOf({ market, assetSymbol, orderSubmission }: JsonObject, outer: Owner): Promise<Owner> {
    const named = market ?? (isJsonObject(orderSubmission) ? orderSubmission["market"] : undefined);
    const units = typeof named === "string" ? { units: await client.marketUnits(named, { signal }) } : {};
    if (typeof assetSymbol !== "string") {
      return { ...outer, ...units };
    }
    const assetId = await names.asset(assetSymbol);
    await names.load({ assets: [assetId] });
    return { ...outer, ...units, assetDecimals: names.known.asset(assetId)?.decimals };
  }

  async function convert(desc: DescMessage, object: JsonObject, outer: Owner): Promise<JsonObject> {
    const owner = await ownerOf(object, outer);
    const entries: [string, JsonValue][] = [];
    for (const [name, value] of Object.entries(object)) {
      if (name === "market" && owner.units !== undefined) {
        entries.push(["marketId", owner.units.marketId]);
      } else if (name === "assetSymbol") {
        entries.push(["asset", await names.asset(String(value))]);
      } else {
        entries.push([name, await convertField(desc, name, value, owner)]);
      }
    }
    return Object.fromEntries(entries);
  }

  async function convertField(desc: DescMessage, name: string, value: JsonValue, owner: Owner): Promise<JsonValue> {
    const field = desc.fields.find(({ jsonName, name: protoName }) => jsonName === name || protoName === name);
    const unit = field && unitOf(desc, field);
    if (unit !== undefined) {
      return integer(`${desc.name}.${name}`, unit, value, desc, owner);
    }
    const message = field?.message;
    if (message === undefined || field?.fieldKind === "map") {
      return value;
    }
    const each = async (inner: JsonValue) => (isJsonObject(inner) ? await convert(message, inner, owner) : inner);
    return Array.isArray(value) ? await Promise.all(value.map(each)) : await each(value);
  }

  return await convert(InputDataSchema, json, {});
}

function integer(
  path: string,
  unit: "asset" | "price" | "size",
  value: JsonValue,
  { typeName }: DescMessage,
  { units, assetDecimals }: Owner,
): string {
  if (typeof value !== "string") {
    throw new RequestError(`${path} must be a decimal number in quotes (got ${JSON.stringify(value)})`);
  }
  if (unit === "asset") {
    const decimals = assetDecimals ?? units?.asset.decimals;
    if (decimals === undefined) {
      throw new RequestError(`the decimals of ${path} are unknown`, {
        advice: "Add the assetSymbol of an asset that the node lists, or write the file in the network's integers.",
      });
    }
    return String(parseByRules(value, decimals, { option: path, isSigned: false }));
  }
  if (units === undefined) {
    throw new RequestError(`the decimals of ${path} are unknown`, { advice: "Add market: its code or its ID." });
  }
  // The tick size does not restrict triggers.
  const isTrigger = typeName === "vega.commands.v1.StopOrderSetup";
  return String(
    isTrigger ? parseByRules(value, units.price.decimals, { option: path, isSigned: false }) : units[unit].parse(value),
  );
}

/** The fields of a command that are shown first. */
const FIRST = ["market", "side", "size", "price", "type", "timeInForce"];

/** Describes a command in decimals, a field on a line. Decimals that the node lacks are noted. */
export async function describeCommand(
  { command }: InputData,
  client: Client,
  context: CommandContext,
): Promise<string> {
  const desc = InputDataSchema.fields.find(({ localName }) => localName === command.case)?.message;
  if (desc === undefined || command.value === undefined) {
    return "";
  }
  const owners = ownersIn(desc, command.value);
  const hasNumbers = owners.markets.size + owners.assets.size > 0;
  const names = createNames(client, { raw: !hasNumbers }, context);
  await names.load(owners);
  const found = [...rowsOf(readableJson(desc, command.value, names.known), command.case)];
  if (!hasNumbers) {
    await names.load({ markets: found.filter(([path]) => MARKET.test(path)).map(([, value]) => value) });
  }
  const rows = found.map(([path, value]) => {
    const known = MARKET.test(path) ? names.code : ASSET.test(path) ? names.symbol : String;
    return [path.slice(`${command.case}.`.length), printable(known(value))] as const;
  });
  const lines = recordLines([[printable(command.case ?? ""), ""], ...rows.toSorted(([a], [b]) => rank(a) - rank(b))]);
  return lines.replace(/^(?=.)/gm, "  ");
}

const rank = (name: string) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);

const MARKET = /\.market$/;
const ASSET = /\.assetSymbol$/;

/** The commands that cancel all orders if they name none. */
const CANCELLATION = /(^|\.)(orderCancellation|cancellations\[\d+\]|stopOrdersCancellation(\[\d+\])?)$/;

/** Yields the members that are set, with their paths; that of a market is `market`, and that of an asset `assetSymbol`. */
function* rowsOf(value: JsonValue, path: string): Generator<readonly [path: string, value: string]> {
  if (isJsonObject(value)) {
    for (const [name, inner] of Object.entries(value)) {
      const at = name === "marketId" ? "market" : name === "asset" ? "assetSymbol" : name;
      yield* rowsOf(inner, `${path}.${at}`);
    }
    const { orderId, stopOrderId, marketId } = value;
    if (CANCELLATION.test(path) && !orderId && !stopOrderId) {
      const which = path.includes("stop") ? "stopOrders" : "orders";
      yield [`${path}.${which}`, `all of this key's${marketId ? " in the market" : ""}`];
    }
  } else if (Array.isArray(value)) {
    for (const [at, inner] of value.entries()) {
      yield* rowsOf(inner, `${path}[${at}]`);
    }
  } else if (value !== null && value !== "" && value !== false && value !== "UNSPECIFIED") {
    yield [path, String(value)];
  }
}
