import { create } from "@bufbuild/protobuf";
import { type OracleDataSubmission, OracleDataSubmission_OracleSource } from "../../../gen/vega/commands/v1/data_pb.js";
import { DataSchema, ExternalDataSchema } from "../../../gen/vega/data/v1/data_pb.js";
import type { DataSourceSpec } from "../../../gen/vega/data_source_pb.js";
import { OracleDataSchema } from "../../../gen/vega/oracle_pb.js";
import type { Work } from "./state.js";

const NOBODY_WAITS = "there are no subscribes to the oracle data";

/**
 * Take data that markets wait for, as JSON (`core/datasource/external/signedoracle`). It is emitted with the data sources that it
 * matches: those that name its sender and one of its properties. On the local node no market settles by it.
 *
 * @param work the block
 * @param partyId who signed the data
 * @param command the data
 * @returns why it was not taken, if so
 */
export function submitOracleData(
  work: Work,
  partyId: string,
  { source, payload }: OracleDataSubmission,
): string | undefined {
  if (source !== OracleDataSubmission_OracleSource.JSON) {
    return "the local node takes oracle data of the source ORACLE_SOURCE_JSON, and of no other";
  }
  const properties = propertiesOf(payload);
  const { dataSources } = work.state.registers;
  const names = new Set(properties?.map(({ name }) => name));
  const matchedSpecIds = [...dataSources.values()]
    .filter((spec) => isSignedBy(spec, partyId) && namesOf(spec).some((name) => names.has(name)))
    .map(({ id }) => id);
  if (properties === undefined || matchedSpecIds.length === 0) {
    return NOBODY_WAITS;
  }
  const data = create(DataSchema, {
    signers: [{ signer: { case: "pubKey", value: { key: partyId } } }],
    data: properties,
    matchedSpecIds,
    broadcastAt: work.block.time,
  });
  const externalData = create(ExternalDataSchema, { data });
  work.emit({ case: "oracleData", value: create(OracleDataSchema, { externalData }) });
  return undefined;
}

/** Read the properties of oracle data, by name; `undefined` where it is not a JSON object. */
export function propertiesOf(payload: Uint8Array): { name: string; value: string }[] | undefined {
  try {
    const given: unknown = JSON.parse(Buffer.from(payload).toString("utf8"));
    return typeof given === "object" && given !== null
      ? Object.entries(given)
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

/** Whether a data source takes data that a key has signed. */
export function isSignedBy(spec: DataSourceSpec, key: string): boolean {
  return (oracleOf(spec)?.signers ?? []).some(
    ({ signer }) => signer.case === "pubKey" && signer.value.key.toLowerCase() === key,
  );
}

/** The names of the properties that a data source waits for. */
export const namesOf = (spec: DataSourceSpec): string[] =>
  (oracleOf(spec)?.filters ?? []).flatMap(({ key }) => key?.name ?? []);
