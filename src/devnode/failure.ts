import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import * as z from "zod";
import { HttpBodySchema } from "../../gen/google/api/httpbody_pb.js";
import { RequestError } from "../errors/index.js";
import { nearest } from "../errors/nearest.js";
import { quoted } from "../errors/quoted.js";
import { checkGiven, optionsOf, wholeNumber } from "./given.js";

/** How a call is to fail. */
export interface Failure {
  /**
   * The method's name, such as `ExportNetworkHistory`, behind its service's and a slash, or alone: then the methods of
   * that name of all services are meant.
   */
  readonly method: string;
  /** How many calls are to fail; 1 by default. */
  readonly times?: number | undefined;
  /**
   * What happens: an error of a code (`UNAVAILABLE`, or its number); the connection is cut (`cut`) or falls silent
   * (`stall`); or an export comes whole, and an error behind it (`error-after-archive`).
   */
  readonly with: string | number;
  /**
   * After how many bytes of the answer; 0 by default, before anything is sent. For an error they are bytes of what is
   * exported, so that only exports take them; for `cut` and `stall` bytes of the wire. An answer of fewer bytes fails at
   * its end.
   */
  readonly afterBytes?: number | undefined;
}

/** What happens to a call that fails. */
export type Happening =
  | { readonly kind: "code"; readonly code: Code; readonly afterBytes: number }
  | { readonly kind: "cut" | "stall"; readonly afterBytes: number };

/** A failure that was checked. */
export interface PlannedFailure {
  /** The full names of the methods that it is for. */
  readonly methods: readonly string[];
  readonly times: number;
  readonly happening: Happening;
}

/**
 * How a failure that the node is asked for looks.
 *
 * @internal
 */
export const failureSchema = optionsOf(
  {
    method: z.string("Give its name as the definitions have it, such as ExportNetworkHistory."),
    times: wholeNumber(1, Number.MAX_SAFE_INTEGER, "Give a whole number from 1 on.").optional(),
    with: z.union([z.string(), z.number()], "Give cut, stall, error-after-archive or a code, such as UNAVAILABLE."),
    afterBytes: wholeNumber(0, Number.MAX_SAFE_INTEGER, "Give a whole number of bytes from 0 on.").optional(),
  } satisfies Record<keyof Failure, unknown>,
  'Give an object such as { method: "ExportNetworkHistory", with: "cut" }.',
);

/**
 * Check how calls are to fail.
 *
 * @param services those whose methods can be made to fail
 * @param given the failure
 * @returns the failure, with its methods
 * @throws {@link RequestError} where it has no form, names what there is not, or could have no effect
 */
export function planFailure(services: readonly DescService[], given: Failure): PlannedFailure {
  const { method: name, times = 1, with: what, afterBytes } = checkGiven(failureSchema, given, "failNext");
  const all = services.flatMap(({ methods }) => methods);
  const methods = all.filter((method) => method.name === name || methodName(method) === name);
  if (methods.length === 0) {
    const near = nearest(name, name.includes("/") ? all.map(methodName) : all.map((method) => method.name));
    throw new RequestError(`there is no method ${quoted(name)}`, {
      advice: `Give its name as the definitions have it, such as ${near ?? "ExportNetworkHistory"}.`,
    });
  }
  const happening = happeningOf(what, afterBytes);
  if (happening.kind === "code" && happening.afterBytes > 0 && !methods.every(isExport)) {
    const exports = all.filter(isExport).map((method) => method.name);
    throw new RequestError(`${name} exports nothing, so that ${lateness(what)}`, {
      advice: `Give a code without afterBytes, or cut or stall; or choose ${exports.join(" or ")}.`,
    });
  }
  return { methods: methods.map(methodName), times, happening };
}

/**
 * Name a method in full.
 *
 * @param method the method
 * @returns the name, such as `datanode.api.v2.TradingDataService/Info`
 */
export function methodName({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`;
}

/** Whether a method streams the bytes of a file, which errors can stand in and behind. */
function isExport({ methodKind, output }: DescMethod): boolean {
  return methodKind === "server_streaming" && output.typeName === HttpBodySchema.typeName;
}

function happeningOf(what: string | number, afterBytes: number | undefined): Happening {
  if (what === "cut" || what === "stall") {
    return { kind: what, afterBytes: afterBytes ?? 0 };
  }
  if (what === AFTER_ALL) {
    if (afterBytes !== undefined) {
      throw new RequestError(`${AFTER_ALL} comes behind all bytes, and takes no afterBytes`, {
        advice: "Leave afterBytes out, or give a code, such as INTERNAL, to fail after so many.",
      });
    }
    return { kind: "code", code: Code.Internal, afterBytes: Number.POSITIVE_INFINITY };
  }
  const code = codes.get(String(what).toUpperCase());
  if (code === undefined) {
    throw new RequestError(`a call cannot fail with ${quoted(String(what))}`, {
      advice: `Give cut, stall, ${AFTER_ALL} or a code: ${[...codes.keys()].filter((name) => Number.isNaN(Number(name))).join(", ")}.`,
    });
  }
  return { kind: "code", code, afterBytes: afterBytes ?? 0 };
}

const AFTER_ALL = "error-after-archive";

const lateness = (what: string | number) =>
  what === AFTER_ALL ? "no error can come behind its archive" : "afterBytes has no bytes to count";

/** Codes by their names, as the specification writes them, and by their numbers. */
const codes = new Map(
  Object.entries(Code).flatMap(([name, code]) =>
    typeof code === "number"
      ? [
          [String(code), code] as const,
          [name.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toUpperCase(), code] as const,
        ]
      : [],
  ),
);
