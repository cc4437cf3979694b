// Definitions with kinds of fields that the network's own definitions lack, made without a compiler.
import {
  create,
  createFileRegistry,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  fromJson,
  type JsonValue,
  setExtension,
} from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
  MethodDescriptorProtoSchema,
  MethodOptionsSchema,
} from "@bufbuild/protobuf/wkt";
import { http } from "tradewire/gen/google/api/annotations_pb.js";
import { HttpRuleSchema } from "tradewire/gen/google/api/http_pb.js";
import { type HttpBinding, httpBindings } from "../../src/wire/http-rule/http-rule.js";

type Field = {
  readonly name: string;
  readonly jsonName: string;
  readonly number: number;
  readonly type: string;
  readonly typeName?: string;
  readonly label?: "LABEL_REPEATED";
  readonly proto3Optional?: boolean;
  readonly oneofIndex?: number;
};

let number = 0;

function field(name: string, type: string, rest: Partial<Field> = {}): Field {
  number += 1;
  const jsonName = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return type.startsWith(".")
    ? { name, jsonName, number, type: "TYPE_MESSAGE", typeName: type, ...rest }
    : { name, jsonName, number, type: `TYPE_${type.toUpperCase()}`, ...rest };
}

const repeated = { label: "LABEL_REPEATED" } as const;
const kind = { typeName: ".shapes.Kind" };

const definitions = {
  name: "shapes.proto",
  package: "shapes",
  syntax: "proto3",
  dependency: ["google/protobuf/timestamp.proto", "google/protobuf/wrappers.proto", "google/protobuf/struct.proto"],
  enumType: [
    {
      name: "Kind",
      value: [
        { name: "KIND_UNSPECIFIED", number: 0 },
        { name: "KIND_ONE", number: 1 },
        { name: "KIND_TWO", number: 2 },
      ],
    },
  ],
  messageType: [
    {
      name: "Shape",
      field: [
        field("name", "string"),
        field("big_number", "int64"),
        field("count", "uint64"),
        field("small", "int32"),
        field("ratio", "double"),
        field("raw_bytes", "bytes"),
        field("is_on", "bool"),
        field("kind", "enum", kind),
        field("tags", "string", repeated),
        field("numbers", "int64", repeated),
        field("flags", "bool", repeated),
        field("kinds", "enum", { ...kind, ...repeated }),
        field("inner", ".shapes.Inner"),
        field("text_value", ".google.protobuf.StringValue"),
        field("bool_value", ".google.protobuf.BoolValue"),
        field("double_value", ".google.protobuf.DoubleValue"),
        field("uint_values", ".google.protobuf.UInt64Value", repeated),
        field("at_time", ".google.protobuf.Timestamp"),
        field("maybe_text", "string", { proto3Optional: true, oneofIndex: 0 }),
        field("maybe_number", "int64", { proto3Optional: true, oneofIndex: 1 }),
        field("maybe_on", "bool", { proto3Optional: true, oneofIndex: 2 }),
        field("labels", ".shapes.Shape.LabelsEntry", repeated),
        field("inners", ".shapes.Inner", repeated),
        field("free", ".google.protobuf.Struct"),
        field("any_value", ".google.protobuf.Value"),
        field("any_list", ".google.protobuf.ListValue"),
      ],
      oneofDecl: [{ name: "_maybe_text" }, { name: "_maybe_number" }, { name: "_maybe_on" }],
      nestedType: [
        {
          name: "LabelsEntry",
          field: [
            { name: "key", number: 1, type: "TYPE_STRING" },
            { name: "value", number: 2, type: "TYPE_STRING" },
          ],
          options: { mapEntry: true },
        },
      ],
    },
    {
      name: "Inner",
      field: [
        field("inner_id", "string"),
        field("levels", "int32", repeated),
        field("deeper", ".shapes.Inner"),
        field("is_set", "bool", { proto3Optional: true, oneofIndex: 0 }),
      ],
      oneofDecl: [{ name: "_is_set" }],
    },
  ],
};

const dependencies = new Map(
  [file_google_protobuf_timestamp, file_google_protobuf_wrappers, file_google_protobuf_struct].map((file) => [
    `${file.name}.proto`,
    file,
  ]),
);

/** Make the method `shapes.Shapes/Call`, from `shapes.Shape` to `shapes.Shape`. */
export function shapeMethod(rule?: JsonValue): DescMethodUnary {
  const file = fromJson(FileDescriptorProtoSchema, definitions);
  const method = create(MethodDescriptorProtoSchema, {
    name: "Call",
    inputType: ".shapes.Shape",
    outputType: ".shapes.Shape",
  });
  if (rule !== undefined) {
    method.options = create(MethodOptionsSchema);
    setExtension(method.options, http, fromJson(HttpRuleSchema, rule));
  }
  file.service.push(
    ...fromJson(FileDescriptorProtoSchema, { service: [{ name: "Shapes" }] }).service.map((service) => {
      service.method.push(method);
      return service;
    }),
  );
  const registry = createFileRegistry(file, (name) => dependencies.get(name));
  const found = registry.getService("shapes.Shapes")?.methods[0];
  if (found === undefined || !isUnary(found)) {
    throw new Error("the service of the shapes was not made");
  }
  return found;
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

/** The message `shapes.Shape`. */
export const ShapeSchema: DescMessage = shapeMethod().input;

/**
 * Get the main way to call a method over HTTP.
 *
 * @throws where it has none
 */
export function ruleOf(method: DescMethod): HttpBinding {
  const [rule] = httpBindings(method);
  if (rule === undefined) {
    throw new Error(`${method.name} has no HTTP rule`);
  }
  return rule;
}
