import { create } from "@bufbuild/protobuf";
import { type OracleDataSubmission, OracleDataSubmission_OracleSource } from "../../../gen/vega/commands/v1/data_pb.js";
import { DataSchema, ExternalDataSchema } from "../../../gen/vega/data/v1/data_pb.js";
import type { DataSourceSpec } from "../../../gen/vega/data_source_pb.js";
import { OracleDataSchema } from "../../../gen/vega/oracle_pb.js";
import type { ExecutionContext } from "./engine-state.js";

const NO_SUBSCRIBERS = "there are no subscribes to the oracle data";

/**
 * Applies signed oracle data in JSON (`core/datasource/external/signedoracle`). It is emitted with the data sources
 * that match its signer and a property. No market settles by it on the local node.
 *
 * @param context the block
 * @param partyId the signer
 * @param command the data
 * @returns the error if no data source matches
 */
export function submitOracleData(
  context: ExecutionContext,
  partyId: string,
  { source, payload }: OracleDataSubmission,
): string | undefined {
  if (source !== OracleDataSubmission_OracleSource.JSON) {
    return "the local node accepts oracle data only from the source ORACLE_SOURCE_JSON";
  }
  const properties = propertiesOf(payload);
  const { dataSources } = context.state;
  const names = new Set(properties?.map(({ name }) => name));
  const matchedSpecIds = [...dataSources.values()]
    .filter((spec) => isSignedBy(spec, partyId) && propertyNamesOf(spec).some((name) => names.has(name)))
    .map(({ id }) => id);
  if (properties === undefined || matchedSpecIds.length === 0) {
    return NO_SUBSCRIBERS;
  }
  const data = create(DataSchema, {
    signers: [{ signer: { case: "pubKey", value: { key: partyId } } }],
    data: properties,
    matchedSpecIds,
    broadcastAt: context.block.time,
  });
  const externalData = create(ExternalDataSchema, { data });
  context.emit({ case: "oracleData", value: create(OracleDataSchema, { externalData }) });
  return undefined;
}

/** Parses the properties of oracle data, sorted by name; `undefined` if the payload is not a JSON object. */
export function propertiesOf(payload: Uint8Array): { name: string; value: string }[] | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(payload).toString("utf8"));
    return typeof parsed === "object" && parsed !== null
      ? Object.entries(parsed)
          .map(([name, value]) => ({ name, value: typeof value === "string" ? value : JSON.stringify(value) }))
          .sort((a, b) => (a.name < b.name ? -1 : 1))
      : undefined;
  } catch {
    return undefined;
  }
}

function oracleOf({ data }: DataSourceSpec) {
  const external = data?.sourceType.case === "external" ? data.sourceType.value.sourceType : undefined;
  return external?.case === "oracle" ? external.value : undefined;
}

/** Returns whether a data source accepts data that a key has signed. */
export function isSignedBy(spec: DataSourceSpec, key: string): boolean {
  return (oracleOf(spec)?.signers ?? []).some(
    ({ signer }) => signer.case === "pubKey" && signer.value.key.toLowerCase() === key,
  );
}

/** Returns the names of the properties that a data source subscribes to. */
export const propertyNamesOf = (spec: DataSourceSpec): string[] =>
  (oracleOf(spec)?.filters ?? []).flatMap(({ key }) => key?.name ?? []);
