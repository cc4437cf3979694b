import {
  type DescEnum,
  type DescEnumValue,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  ScalarType,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { httpBindings } from "../../http-rule/http-rule.js";
import { methodName } from "../../transport/method-name.js";
import { printable, printableLines } from "../output.js";
import type { Tables } from "../terminal.js";
import { commentOf } from "./comment.js";
import { type Definitions, methodsOf, yields } from "./definitions.js";
import type { Named } from "./find-name.js";

/** What can be described. */
export type Describable = DescService | DescMethod | DescMessage | DescEnum;

/**
 * List what can be described.
 *
 * @param definitions the definitions
 * @returns services, methods, messages and enums by their full names
 */
export function describables(definitions: Definitions): Named<Describable>[] {
  const types = [...definitions.registry].filter((desc) => desc.kind !== "extension");
  return [
    ...types.map((item) => ({ name: item.typeName, item })),
    ...methodsOf(definitions).map((item) => ({ name: methodName(item), item, yields: yields(item) })),
  ];
}

/**
 * Describe a method on one line of a table.
 *
 * @param method the method
 * @returns its full name, its kind, such as `server streaming`, and its HTTP rules, such as `GET /api/v2/info`
 */
export function methodCells(method: DescMethod): [name: string, kind: string, http: string] {
  const { kind, http } = methodObject(method);
  return [methodName(method), kind.replaceAll("_", " "), http.join(", ")];
}

/**
 * Describe a method as a plain object.
 *
 * @param method the method
 * @returns its full name, its kind, its HTTP rules and the names of its messages
 */
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

/**
 * Describe a service, a method, a message or an enum as a plain object.
 *
 * @param desc the descriptor
 * @returns its kind, its full name and what it consists of; a method's messages with their fields
 */
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

/**
 * Describe a service, a method, a message or an enum for a person.
 *
 * @param desc the descriptor
 * @param format formats tables
 * @returns lines of text, safe for a terminal
 */
export function describedText(desc: Describable, format: Tables["format"]): string {
  switch (desc.kind) {
    case "service": {
      // The service is named above them: in front of each, it would push what tells them apart out of a terminal.
      const rows = desc.methods.map((method) => methodCells(method).with(0, method.name).map(printable));
      return `${headText(desc, "service")}${format(["method", "kind", "http"], rows, { ranked: ["method", "http"] })}`;
    }
    case "rpc": {
      const [name, kind, http] = methodCells(desc);
      const about = commentOf(desc);
      const rows = Object.entries({ kind, http, comment: about }).filter(([, text]) => text !== "");
      const head = format(
        ["method", printable(name)],
        rows.map((cells) => cells.map(printable)),
      );
      return `${head}\nrequest ${messageText(desc.input, format)}\nresponse ${messageText(desc.output, format)}`;
    }
    case "message":
      return messageText(desc, format);
    case "enum": {
      const rows = desc.values.map((value) => [String(value.number), value.name, commentOf(value)].map(printable));
      return `${headText(desc, "enum")}${commented(["number", "name"], rows, format, ["name"])}`;
    }
  }
}

function headText(desc: DescService | DescMessage | DescEnum, kind: string): string {
  const about = commentOf(desc);
  return printableLines(`${kind} ${desc.typeName}\n${about === "" ? "" : `${about}\n`}\n`);
}

function messageText(desc: DescMessage, format: Tables["format"]): string {
  const rows = desc.fields.map((field) => {
    const { number, name, jsonName, type, presence } = fieldObject(field);
    return [String(number), name, jsonName, type, presence, commentOf(field)].map(printable);
  });
  const header = ["number", "name", "json", "type", "presence"];
  const ranked = ["name", "type", "comment", "number", "presence"];
  return `${headText(desc, "message")}${rows.length === 0 ? "no fields\n" : commented(header, rows, format, ranked)}`;
}

/** A table of rows whose last cells are comments, which have a column where there are any. */
function commented(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  format: Tables["format"],
  ranked: readonly string[],
): string {
  const isCommented = rows.some((cells) => cells.at(-1) !== "");
  return format(isCommented ? [...header, "comment"] : header, rows, { ranked });
}

/** A field as a plain object. Types are written as in `.proto` files. */
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

/** The comment, where there is one. */
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

/** How it can be told whether a field was set; empty for a field that merely is at its default. */
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
