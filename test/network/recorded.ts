// Reads the recorded answers of the real network: recorded/README.md describes their form.
import { readFile } from "node:fs/promises";
import type { DescMethod, DescMethodUnary, JsonObject } from "@bufbuild/protobuf";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { CoreStateService } from "tradewire/gen/vega/api/v1/corestate_pb.js";

/** An error of the network. */
export interface RecordedError {
  /** gRPC's number. */
  readonly code: number;
  readonly message: string;
  readonly details?: readonly { readonly code: number; readonly message: string; readonly inner: string }[];
}

/** What a unary call came to. */
export type RecordedResult =
  | { readonly answer: JsonObject; readonly error?: undefined }
  | { readonly answer?: undefined; readonly error: RecordedError };

/** A unary call. */
export type RecordedCall = RecordedResult & {
  readonly name: string;
  readonly node: "core" | "data";
  /** Service and method. */
  readonly method: string;
  /** The request as Protobuf JSON. */
  readonly request: JsonObject;
};

/** A file of recorded cases. */
export interface LatestEvent<Case> {
  readonly chainId: string;
  /** The market that the cases are on, and the two parties that opened it; in files of commands. */
  readonly market: string;
  readonly alice: string;
  readonly bob: string;
  readonly cases: readonly Case[];
}

/** Reads a file of recorded cases. */
export async function readRecorded<Case = RecordedCall>(name: string): Promise<LatestEvent<Case>> {
  return JSON.parse(await readFile(new URL(`recorded/${name}.json`, import.meta.url), "utf8"));
}

/**
 * Finds a method by its recorded name.
 *
 * @throws Error where there is no such method
 */
export function methodNamed(name: string): DescMethodUnary {
  for (const service of [TradingDataService, CoreService, CoreStateService]) {
    for (const method of service.methods) {
      if (isUnary(method) && `${service.typeName}/${method.name}` === name) {
        return method;
      }
    }
  }
  throw new Error(`there is no unary method ${name}`);
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}
