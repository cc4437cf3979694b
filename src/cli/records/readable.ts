import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { type DecimalNumbers, decimalFields, type KnownDecimals } from "../../trade/market/field-units.js";
import { isJsonObject } from "../../wire/json/json-values.js";
import { messageToJson } from "../../wire/json/message-json.js";
import { isoTime } from "../formatting.js";

const NANOSECONDS = new Set(
  (
    "auctionEnd auctionStart close createdAt createdTimestamp creditedTimestamp deliverOn end endTime endedAt expireTime " +
    "expiresAt expiryTime finalizedAt joinedAt lastUpdate lastUpdated nextInternalCompositePriceCalc nextMarkToMarket " +
    "nextNetworkCloseout open pending proposeAssetEnabledFrom proposeMarketEnabledFrom proposed start startTime startedAt " +
    "switchedAt time timestamp updatedAt withdrawnTimestamp"
  ).split(" "),
);
const SECONDS = new Set(
  "blockTime closingTimestamp enactmentTimestamp endOfProgramTimestamp initial ts until validationTimestamp".split(" "),
);

/** What the network sends for no time: 0, or Go's zero time in nanoseconds. */
const NO_TIME: readonly string[] = ["0", "-6795364578871345152"];

/** Converts nothing, so that it shows which fields have a unit. */
const NONE = { decimals: 0 };
const ALL_KNOWN: KnownDecimals = { market: () => ({ price: NONE, size: NONE, asset: NONE }), asset: () => NONE };

/**
 * Converts a message to JSON that people and other programs read without the network's definitions: prices, sizes and amounts
 * are decimal numbers, times ISO 8601, and enum values names without the prefix that they share. A number whose decimals are
 * unknown is null, because its integer would look like a decimal number; so is one that the node left out.
 */
export function readableJson<M extends DescMessage>(
  desc: M,
  message: MessageShape<M>,
  known: KnownDecimals,
): JsonObject {
  const json = messageToJson(desc, message);
  return isJsonObject(json)
    ? converted(desc, json, decimalFields(desc, message, ALL_KNOWN), decimalFields(desc, message, known))
    : {};
}

function converted(
  desc: DescMessage,
  json: JsonObject,
  units: DecimalNumbers,
  numbers: DecimalNumbers | undefined,
): JsonObject {
  const entries = desc.fields.flatMap((field): [string, JsonValue][] => {
    const { jsonName, localName } = field;
    const value = json[jsonName];
    const [unit, number] = [units[localName], numbers?.[localName]];
    if (value === undefined) {
      return [];
    }
    if (typeof unit === "string") {
      return [[jsonName, value !== "" && typeof number === "string" ? number : null]];
    }
    const inner = (each: JsonValue, at?: number) => innerValue(field, each, partOf(unit, at), partOf(number, at));
    return [[jsonName, Array.isArray(value) ? value.map(inner) : inner(value)]];
  });
  return Object.fromEntries(entries);
}

function partOf(numbers: DecimalNumbers[string] | undefined, at: number | undefined): DecimalNumbers | undefined {
  const part: unknown = Array.isArray(numbers) && at !== undefined ? numbers[at] : numbers;
  return isNumbers(part) ? part : undefined;
}

function isNumbers(part: unknown): part is DecimalNumbers {
  return typeof part === "object" && !Array.isArray(part);
}

function innerValue(
  field: DescField,
  value: JsonValue,
  units: DecimalNumbers = {},
  numbers: DecimalNumbers | undefined = undefined,
): JsonValue {
  if (field.message !== undefined && field.fieldKind !== "map" && isJsonObject(value)) {
    return converted(field.message, value, units, numbers);
  }
  if (field.enum !== undefined && typeof value === "string") {
    return shortName(field.enum, value);
  }
  return isTime(field) && typeof value === "string" ? timeOf(field, value) : value;
}

const isTime = ({ fieldKind, scalar, jsonName }: DescField) =>
  fieldKind === "scalar" &&
  (scalar === ScalarType.INT64 || scalar === ScalarType.UINT64) &&
  (NANOSECONDS.has(jsonName) || SECONDS.has(jsonName));

function timeOf({ jsonName, parent }: DescField, text: string): string | null {
  // The time of a tick is in seconds, unlike others of that name (v0.78.0, core/events/market_tick.go).
  const inSeconds = SECONDS.has(jsonName) || parent.typeName === "vega.events.v1.MarketTick";
  return NO_TIME.includes(text) ? null : isoTime(BigInt(text) * (inSeconds ? 1_000_000_000n : 1n));
}

/** Removes the prefix that all values of an enum share from the name of a value. */
function shortName({ sharedPrefix = "" }: DescEnum, name: string): string {
  const prefix = sharedPrefix.toUpperCase();
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}
