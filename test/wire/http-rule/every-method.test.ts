import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type DescMethod, type DescService, fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { RequestError } from "tradewire";
import { anyRequest } from "../../support/any-message.js";
import { isServerStreaming, isUnary } from "../../support/definitions.js";
import {
  createFirstHttpCall,
  createHttpCall,
  type HttpBinding,
  httpBindings,
  isJsonObject,
  knownTypes,
  parseHttpCall,
} from "./inside.js";

const RUNS = 50;
const generated = fileURLToPath(new URL("../../../gen", import.meta.url));

/** The methods of all services, by their names. */
const methods = new Map<string, DescMethod>();
for (const file of readdirSync(generated, { recursive: true, encoding: "utf8" }).sort()) {
  if (file.endsWith("_pb.ts")) {
    const module: object = await import(pathToFileURL(join(generated, file)).href);
    for (const service of Object.values(module).filter(isService)) {
      for (const method of service.methods) {
        methods.set(`${service.typeName}/${method.name}`, method);
      }
    }
  }
}
const callable = [...methods].filter(
  ([, method]) => (isUnary(method) || isServerStreaming(method)) && httpBindings(method).length > 0,
);

function isService(value: unknown): value is DescService {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "service";
}

/** The call as the gateway gets it: its body has travelled as text. */
function received({ body, ...call }: ReturnType<typeof createHttpCall>): ReturnType<typeof createHttpCall> {
  return body === undefined ? call : { ...call, body: JSON.parse(JSON.stringify(body)) };
}

/** The request without messages that hold nothing, where they would stand in a query: it has no place for them. */
function withoutEmpty(json: JsonValue, { body }: HttpBinding, method: DescMethod): JsonValue {
  const inBody = method.input.fields.find(({ name }) => name === body)?.jsonName;
  if (body === "*" || !isJsonObject(json)) {
    return json;
  }
  return Object.fromEntries(
    Object.entries(json).flatMap(([name, value]) => {
      const kept = name === inBody ? value : pruned(value);
      return kept === undefined ? [] : [[name, kept]];
    }),
  );
}

function pruned(json: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(json)) {
    return json;
  }
  const entries = Object.entries(json).flatMap(([name, value]) => {
    const kept = pruned(value);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

describe.each(callable)("%s", (_, method) => {
  const { input } = method;
  const options = { registry: knownTypes };

  it.each(httpBindings(method).map((rule) => [`${rule.verb} ${rule.template.text}`, rule] as const))(
    "writes requests that the gateway reads back: %s",
    (__, rule) => {
      fc.assert(
        fc.property(anyRequest(input, rule), (json) => {
          const message = fromJson(input, json, options);
          const back = parseHttpCall(input, rule, received(createHttpCall(input, rule, message)));
          const expected = toJson(input, message, options);
          expect(back && toJson(input, back, options)).toEqual(withoutEmpty(expected, rule, method));
        }),
        { numRuns: RUNS },
      );
    },
  );

  it("refuses any other request, or writes it whole", () => {
    const rules = httpBindings(method);
    const [main] = rules;
    if (main === undefined) {
      throw new Error("the method has no rule");
    }
    const text = fc.oneof(fc.string({ maxLength: 4 }), fc.constantFrom("", ".", ".."));
    fc.assert(
      fc.property(
        anyRequest(input, { ...main, template: { ...main.template, variables: [] } }, { inQuery: false, text }),
        (json) => {
          const message = fromJson(input, json, options);
          let written: ReturnType<typeof createFirstHttpCall>;
          try {
            written = createFirstHttpCall(input, rules, message);
          } catch (reason) {
            expect(reason).toBeInstanceOf(RequestError);
            return;
          }
          const { call, rule } = written ?? { call: undefined, rule: undefined };
          if (call === undefined) {
            throw new Error("nothing was written");
          }
          const back = parseHttpCall(input, rule, received(call));
          const expected = withoutEmpty(toJson(input, message, options), rule, method);
          expect(back && toJson(input, back, options)).toMatchObject(isJsonObject(expected) ? expected : {});
        },
      ),
      { numRuns: RUNS },
    );
  });
});
