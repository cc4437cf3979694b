import { readFileSync } from "node:fs";
import { fromJson, getOption, hasOption, type JsonObject, toJson } from "@bufbuild/protobuf";
import { expect, it } from "@jest/globals";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { http } from "tradewire/gen/google/api/annotations_pb.js";
import { HttpRuleSchema } from "tradewire/gen/google/api/http_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { CoreStateService } from "tradewire/gen/vega/api/v1/corestate_pb.js";
import { parse } from "yaml";

const SERVICES = [TradingDataService, CoreService, CoreStateService];

/** The rules of a file with which the network's own gateway is generated, by the full names of their methods. */
function rulesOf(name: string): (readonly [string, unknown])[] {
  const { http } = parse(readFileSync(`test/wire/http-rule/network/${name}.yml`, "utf8"));
  return http.rules.map(({ selector, ...rule }: JsonObject & { selector: string }) => [
    selector,
    toJson(HttpRuleSchema, fromJson(HttpRuleSchema, rule)),
  ]);
}

it("the definitions have the rules of the network's own gateway, and no others", () => {
  const annotated = SERVICES.flatMap((service) =>
    service.methods.flatMap((method) =>
      hasOption(method, http)
        ? [[`${service.typeName}.${method.name}`, toJson(HttpRuleSchema, getOption(method, http))] as const]
        : [],
    ),
  );
  expect(annotated.length).toBeGreaterThan(100);
  expect(Object.fromEntries(annotated)).toEqual(Object.fromEntries([...rulesOf("vega"), ...rulesOf("data-node")]));
});
