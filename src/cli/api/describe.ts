import {
  type DescEnum,
  type DescEnumValue,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type DescService,
  ScalarType,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { httpBindings } from "../../wire/http-rule/http-rule.js";
import { methodName } from "../../wire/transport/method.js";
import type { CompletionValues } from "../declarations.js";
import { wrapped } from "../formatting.js";
import { printable, printableLines } from "../output.js";
import { type Tables, tableWidth } from "../table.js";
import { type Definitions, loadDefinitions, methodsOf, type Named, yields } from "./definitions.js";

/** An element that can be described. */
export type Describable = DescService | DescMethod | DescMessage | DescEnum;

export function describables(definitions: Definitions): Named<Describable>[] {
  const types = [...definitions.registry].filter((desc) => desc.kind === "message" || desc.kind === "enum");
  return [
    ...[...definitions.services, ...types].map((item) => ({ name: item.typeName, item })),
    ...methodsOf(definitions).map((item) => ({ name: methodName(item), item, yields: yields(item) })),
  ];
}

/**
 * Names methods as briefly as `call` accepts them: by the method alone if no other has its name, else with the service.
 */
export function shortMethodNames(methods: readonly DescMethod[]): (method: DescMethod) => string {
  const counts = new Map<string, number>();
  for (const { name } of methods) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return (method) =>
    !yields(method) && counts.get(method.name) === 1 ? method.name : `${method.parent.name}/${method.name}`;
}

/** Describes a method as a line of a table. */
export function methodCells(method: DescMethod): [name: string, kind: string, http: string] {
  const { kind, http } = methodObject(method);
  return [methodName(method), kind.replaceAll("_", " "), http.join(", ")];
}

/** Describes a method as a plain object. */
export function methodObject(method: DescMethod) {
  return {
    name: methodName(method),
    kind: method.methodKind,
    http: httpBindings(method).map(({ verb, template }) => `${verb} ${template.text}`),
    request: method.input.typeName,
    response: method.output.typeName,
    ...comment(method),
  };
}

/** Describes a service, a method, a message or an enum as a plain object. */
export function describedObject(desc: Describable): object {
  switch (desc.kind) {
    case "service":
      return { kind: "service", name: desc.typeName, ...comment(desc), methods: desc.methods.map(methodObject) };
    case "rpc": {
      const { kind: methodKind, ...rest } = methodObject(desc);
      return {
        kind: "method",
        methodKind,
        ...rest,
        requestFields: desc.input.fields.map(fieldObject),
        responseFields: desc.output.fields.map(fieldObject),
      };
    }
    case "message":
      return { kind: "message", name: desc.typeName, ...comment(desc), fields: desc.fields.map(fieldObject) };
    case "enum":
      return { kind: "enum", name: desc.typeName, ...comment(desc), values: desc.values.map(valueObject) };
  }
}

/** Lists the parts of a service, a method, a message or an enum as plain objects. */
export function describedRecords(desc: Describable): object[] {
  switch (desc.kind) {
    case "service":
      return desc.methods.map(methodObject);
    case "rpc":
      return [desc.input, desc.output].flatMap(({ typeName, fields }) =>
        fields.map((field) => ({ message: typeName, ...fieldObject(field) })),
      );
    case "message":
      return desc.fields.map(fieldObject);
    case "enum":
      return desc.values.map(valueObject);
  }
}

/** Describes a service, a method, a message or an enum for a person. */
export function describedText(desc: Describable, tables: Tables): string {
  const { format } = tables;
  switch (desc.kind) {
    case "service": {
      // The service is named above the table. In front of each method, it would push the distinct part out of the terminal.
      const rows = desc.methods.map((method) => methodCells(method).with(0, method.name).map(printable));
      return `${headText(desc, "service", tables.width)}${format(["method", "kind", "http"], rows, { ranked: ["method", "http"] })}`;
    }
    case "rpc": {
      const [name, kind, http] = methodCells(desc);
      const about = commentOf(desc);
      const rows = Object.entries({ kind, http, comment: about }).filter(([, text]) => text !== "");
      const head = format(
        ["method", printable(name)],
        rows.map((cells) => cells.map(printable)),
      );
      return `${head}\nrequest ${messageText(desc.input, tables)}\nresponse ${messageText(desc.output, tables)}`;
    }
    case "message":
      return messageText(desc, tables);
    case "enum": {
      const rows = desc.values.map((value) => [String(value.number), value.name, commentOf(value)].map(printable));
      return `${headText(desc, "enum", tables.width)}${tableWithComments(["number", "name"], rows, tables, ["name"])}`;
    }
  }
}

function headText(desc: DescService | DescMessage | DescEnum, kind: string, width: number): string {
  const about = commentOf(desc);
  return printableLines(`${kind} ${desc.typeName}\n${about === "" ? "" : `${wrapped(about, width).join("\n")}\n`}\n`);
}

function messageText(desc: DescMessage, tables: Tables): string {
  const rows = desc.fields.map((field) => {
    const { number, name, jsonName, type, presence } = fieldObject(field);
    return [String(number), name, jsonName, type, presence, commentOf(field)].map(printable);
  });
  const header = ["number", "name", "json", "type", "presence"];
  const ranked = ["name", "type", "number", "presence"];
  return `${headText(desc, "message", tables.width)}${rows.length === 0 ? "no fields\n" : tableWithComments(header, rows, tables, ranked)}`;
}

/** The text before each line of a comment that is below its element. */
const INDENT = "    ";

/**
 * Formats rows whose last cells are comments: with a column for them if there are any and the table fits the terminal,
 * otherwise with each comment below its row.
 */
function tableWithComments(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  { format, width }: Tables,
  ranked: readonly string[],
): string {
  const commented = [...header, "comment"];
  if (rows.every((cells) => cells.at(-1) === "")) {
    return format(header, rows, { ranked });
  }
  if (tableWidth([commented, ...rows]) <= width) {
    return format(commented, rows, { ranked });
  }
  const [head, ...lines] = format(header, rows, { ranked, prefers: "values" }).trimEnd().split("\n");
  const below = rows.map((cells, at) => {
    const comment = cells.at(-1) ?? "";
    const comments = comment === "" ? [] : wrapped(comment, width - INDENT.length).map((line) => `${INDENT}${line}`);
    return [lines[at] ?? "", ...comments];
  });
  return `${[head, ...below.flat()].join("\n")}\n`;
}

/** Describes a field as a plain object. Types are written as in `.proto` files. */
function fieldObject(field: DescField) {
  return {
    number: field.number,
    name: field.name,
    jsonName: field.jsonName,
    type: typeOf(field),
    presence: presenceOf(field),
    ...comment(field),
  };
}

function valueObject(value: DescEnumValue) {
  return { number: value.number, name: value.name, ...comment(value) };
}

/** Returns an object with the comment, or without it if there is none. */
function comment(desc: Parameters<typeof commentOf>[0]): { comment?: string } {
  const text = commentOf(desc);
  return text === "" ? {} : { comment: text };
}

function typeOf(field: DescField): string {
  const one = field.message?.typeName ?? field.enum?.typeName ?? scalarName(field.scalar);
  if (field.fieldKind === "map") {
    return `map<${scalarName(field.mapKey)},${one}>`;
  }
  return field.fieldKind === "list" ? `repeated ${one}` : one;
}

function scalarName(scalar: ScalarType | undefined): string {
  return scalar === undefined ? "" : ScalarType[scalar].toLowerCase();
}

/** Returns how the presence of a field is tracked; empty for a field that has its default if it is not set. */
function presenceOf(field: DescField): string {
  if (field.oneof !== undefined) {
    return `oneof ${field.oneof.name}`;
  }
  if (field.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED) {
    return "required";
  }
  const isExplicit = field.presence === FeatureSet_FieldPresence.EXPLICIT && field.message === undefined;
  return field.proto.proto3Optional || (isExplicit && field.fieldKind !== "list") ? "optional" : "";
}

type Commented = DescService | DescMethod | DescMessage | DescField | DescEnum | DescEnumValue;

function commentOf(desc: Commented): string {
  const path = pathOf(desc).join();
  const location = fileOf(desc).proto.sourceCodeInfo?.location.find((found) => found.path.join() === path);
  return (location?.leadingComments || location?.trailingComments || "").trim().replace(/\s+/g, " ");
}

function fileOf(desc: Commented): DescFile {
  return "file" in desc ? desc.file : fileOf(desc.parent);
}

/** Returns the path of an element in its file: numbers of fields of `descriptor.proto`, and indexes in them. */
function pathOf(desc: Commented): number[] {
  switch (desc.kind) {
    case "service":
      return [6, desc.file.proto.service.indexOf(desc.proto)];
    case "rpc":
      return [...pathOf(desc.parent), 2, desc.parent.proto.method.indexOf(desc.proto)];
    case "message":
      return desc.parent === undefined
        ? [4, desc.file.proto.messageType.indexOf(desc.proto)]
        : [...pathOf(desc.parent), 3, desc.parent.proto.nestedType.indexOf(desc.proto)];
    case "enum":
      return desc.parent === undefined
        ? [5, desc.file.proto.enumType.indexOf(desc.proto)]
        : [...pathOf(desc.parent), 4, desc.parent.proto.enumType.indexOf(desc.proto)];
    case "field":
      return [...pathOf(desc.parent), 2, desc.parent.proto.field.indexOf(desc.proto)];
    case "enum_value":
      return [...pathOf(desc.parent), 2, desc.parent.proto.value.indexOf(desc.proto)];
  }
}

/** Completes the name of a method: the name alone if only one method has it, else with its service. */
export async function completeMethods(): Promise<CompletionValues> {
  const methods = methodsOf(await loadDefinitions({}, new AbortController().signal));
  return { values: methods.map(shortMethodNames(methods)) };
}

/** Completes the name of a service, method, message or enum. */
export async function completeNames(): Promise<CompletionValues> {
  const definitions = await loadDefinitions({}, new AbortController().signal);
  const names = describables(definitions).map(({ name }) => name.replace(/^.*[./]/, ""));
  return { values: [...new Set(names)].toSorted() };
}
