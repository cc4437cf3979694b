import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type InputData, InputDataSchema } from "../../gen/vega/commands/v1/transaction_pb.js";
import { RequestError } from "../base/errors/index.js";
import type { Client, MarketUnits } from "../index.js";
import { parseByRules } from "../trade/market/decimal.js";
import { ownersIn, unitOf } from "../trade/market/field-units.js";
import { isJsonObject } from "../wire/json/json-values.js";
import { type CommandContext, printable } from "./output.js";
import { readableJson } from "./records/readable.js";
import { createNames, type Names } from "./records/record-names.js";
import { recordLines } from "./table.js";

/** What names the market and the asset in a command in decimals, and in one in the network's integers. */
const DECIMAL_NAMES = ["market", "assetSymbol"];
const INTEGER_NAMES = ["marketId", "asset"];

/** Returns whether a command in JSON is in decimals: with `market` in place of `marketId`, or `assetSymbol` in place of `asset`. */
export function isInDecimals(json: JsonValue): boolean {
  return hasMember(json, DECIMAL_NAMES);
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
  if (hasMember(json, INTEGER_NAMES)) {
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
  const names = createNames(client, {}, context);
  await names.load(ownersIn(desc, command.value));
  const json = readableJson(desc, command.value, names.known);
  const rows = [...rowsOf(json, "", names)].toSorted(([a], [b]) => rank(a) - rank(b));
  const lines = recordLines([[printable(command.case ?? ""), ""], ...rows]);
  return lines.replace(/^(?=.)/gm, "  ");
}

const rank = (name: string) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);

/** Yields the members that are set, with their paths; markets by their codes, assets by their symbols. */
function* rowsOf(value: JsonValue, path: string, names: Names): Generator<readonly [name: string, value: string]> {
  if (isJsonObject(value)) {
    for (const [name, inner] of Object.entries(value)) {
      const at = name === "marketId" ? "market" : name === "asset" ? "assetSymbol" : name;
      yield* rowsOf(inner, path === "" ? at : `${path}.${at}`, names);
    }
  } else if (Array.isArray(value)) {
    for (const [at, inner] of value.entries()) {
      yield* rowsOf(inner, `${path}[${at}]`, names);
    }
  } else if (value !== null && value !== "" && value !== false && value !== "UNSPECIFIED") {
    const known = /(^|\.)market$/.test(path) ? names.code : /(^|\.)assetSymbol$/.test(path) ? names.symbol : String;
    yield [path, printable(known(String(value)))];
  }
}
