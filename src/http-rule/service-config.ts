import { create, type DescField, type DescMessage, type DescMethod } from "@bufbuild/protobuf";
import { isMap, isScalar, isSeq, Lexer, LineCounter, type ParsedNode, Parser, parseDocument } from "yaml";
import { type HttpRule, HttpRuleSchema } from "../../gen/client/google/api/http_pb.js";
import { closestName, quoted, truncate } from "../errors/error-text.js";
import { RequestError } from "../errors/index.js";
import { quotedPath } from "../errors/node-errors.js";
import { verbAndPath } from "./http-rule.js";
import { parsePathTemplate } from "./path-template.js";
import { findField } from "./request-fields.js";

/** The input of {@link readServiceConfig}, and its output. */
interface ServiceConfigInput {
  /** The path of the file, for errors. */
  readonly path: string;
  /** The methods that may have rules, by their full names, such as `vega.api.v1.CoreService.Statistics`. */
  readonly methods: ReadonlyMap<string, DescMethod>;
  /** Receives the rules by the full names of their methods. */
  readonly rules: Map<string, HttpRule>;
  /** Receives the file and the line of each rule; it holds those of files that were read before. */
  readonly places: Map<string, string>;
}

/** The keys that hold a path. */
/** The advice for a file that is not a gateway's file of HTTP rules. */
export const HTTP_RULES_FILE = "Use a gateway's YAML file with HTTP rules.";

const VERBS = ["get", "put", "post", "delete", "patch"] as const;

/** The maximum length of YAML's own message in an error, in characters. */
const MAX_MESSAGE = 200;

/**
 * Reads the HTTP rules of a service configuration (`google.api.Service`) in YAML. Parts other than `http.rules` are ignored, as
 * in grpc-gateway (`internal/descriptor/grpc_api_configuration.go`).
 *
 * @param bytes the content of the file
 * @param input the methods, and the receiver of the rules
 * @throws {@link RequestError} if the file is not such a configuration, or a rule does not fit its method; the error
 *   names the line
 */
export function readServiceConfig(bytes: Uint8Array, { path, methods, rules, places }: ServiceConfigInput): void {
  const { contents, nodes } = parseYaml(bytes, path);
  const root = nodes.map(contents, "the file");
  const type = root.get("type");
  if (type !== undefined && nodes.text(type, "type") !== "google.api.Service") {
    const found = quoted(nodes.text(type, "type"));
    throw nodes.error(type, `type must be google.api.Service (got ${found})`, HTTP_RULES_FILE);
  }
  const http = root.get("http");
  const list = http && nodes.map(http, "http").get("rules");
  if (list === undefined) {
    throw nodes.error(contents, "http.rules is missing", HTTP_RULES_FILE);
  }
  for (const item of nodes.list(list, "http.rules")) {
    const { rule, selector } = readRule(item, nodes, methods);
    const name = rule.selector;
    const before = places.get(name);
    if (before !== undefined) {
      const advice = "Put additional paths of a method into the additional_bindings of its rule.";
      throw nodes.error(selector, `${name} already has a rule (${before})`, advice);
    }
    rules.set(name, rule);
    places.set(name, nodes.place(selector));
  }
}

type YamlNode = ParsedNode | null | undefined;

/** A view of a file's nodes that knows their lines. */
interface Nodes {
  /** Returns the values of a mapping by their keys. */
  map(node: YamlNode, name: string): ReadonlyMap<string, YamlNode>;
  /** Returns the items of a list. */
  list(node: YamlNode, name: string): readonly YamlNode[];
  /** Returns a text. */
  text(node: YamlNode, name: string): string;
  /** Returns the file and the line of a node. */
  place(node: YamlNode): string;
  /** Returns an error about a node. */
  error(node: YamlNode, what: string, advice: string): RequestError;
}

function parseYaml(bytes: Uint8Array, path: string): { readonly contents: YamlNode; readonly nodes: Nodes } {
  const lines = new LineCounter();
  const placeOf = (offset: number) => `${quotedPath(path)}, line ${lines.linePos(offset).line || 1}`;
  const invalid = (place: string, reason: Error) =>
    new RequestError(`${place}: invalid YAML: ${truncate(reason.message, MAX_MESSAGE)}`, {
      advice: "Correct the file.",
      cause: reason,
    });
  let contents: YamlNode;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    assertDepth(text, path);
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: "error" });
    const [problem] = document.errors;
    if (problem !== undefined) {
      throw invalid(placeOf(problem.pos[0]), problem);
    }
    ({ contents } = document);
  } catch (reason) {
    throw reason instanceof RequestError || !(reason instanceof Error) ? reason : invalid(quotedPath(path), reason);
  }
  const place = (node: YamlNode) => placeOf(node?.range[0] ?? 0);
  const error = (node: YamlNode, what: string, advice: string) =>
    new RequestError(`${place(node)}: ${what}`, { advice });
  // An alias is none of these, so that nothing is expanded.
  const wrong = (node: YamlNode, name: string, kind: string) =>
    error(node, `${name} must be ${kind}`, "YAML aliases are not supported.");
  const text = (node: YamlNode, name: string) => {
    if (isScalar(node) && typeof node.value === "string") {
      return node.value;
    }
    throw wrong(node, name, "a text");
  };
  const nodes: Nodes = {
    place,
    error,
    text,
    map(node, name) {
      if (!isMap<ParsedNode, ParsedNode | null>(node)) {
        throw wrong(node, name, "a mapping");
      }
      return new Map(node.items.map(({ key, value }) => [text(key, "a key"), value]));
    },
    list(node, name) {
      if (!isSeq<ParsedNode>(node)) {
        throw wrong(node, name, "a list");
      }
      return node.items;
    },
  };
  return { contents, nodes };
}

/** The maximum depth of nested values. HTTP rules need 8; other parts of a file may need a few more. */
const MAX_DEPTH = 64;

/** Checks how deep values are nested, without recursion: composing them takes stack for each level, and may end the process. */
function assertDepth(text: string, path: string): void {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    for (const _ of parser.next(lexeme)) {
      // The parser makes progress as its tokens are read.
    }
    if (parser.stack.length > MAX_DEPTH) {
      throw new RequestError(`${quotedPath(path)} has values nested deeper than ${MAX_DEPTH} levels`, {
        advice: HTTP_RULES_FILE,
      });
    }
  }
}

/** Reads a rule with its selector. */
function readRule(item: YamlNode, nodes: Nodes, methods: ReadonlyMap<string, DescMethod>) {
  const fields = nodes.map(item, "a rule");
  const selector = fields.get("selector");
  if (selector === undefined) {
    throw nodes.error(
      item,
      "the rule has no selector",
      "Use the full name of a method, such as library.v1.Library.GetBook.",
    );
  }
  const name = nodes.text(selector, "selector").trim();
  const method = methods.get(name);
  if (method === undefined) {
    throw nodes.error(selector, `selector ${quoted(name)} is not the full name of a method`, adviceFor(name, methods));
  }
  return { rule: create(HttpRuleSchema, { ...readBinding(item, nodes, method), selector: name }), selector };
}

/** The maximum number of names that an error suggests, and the maximum length of a name that is compared. */
const MAX_SUGGESTED = 3;
const MAX_COMPARED = 300;

function adviceFor(name: string, methods: ReadonlyMap<string, DescMethod>): string {
  const rules = "A selector names one method, without wildcards.";
  if (name.length > MAX_COMPARED) {
    return rules;
  }
  const last = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  const candidates = [...methods.keys()];
  const alike = candidates.filter((candidate) => candidate.toLowerCase().endsWith(`.${last}`));
  const near = closestName(name, candidates);
  const suggested = [...new Set([...(near === undefined ? [] : [near]), ...alike])].slice(0, MAX_SUGGESTED);
  return suggested.length === 0 ? rules : `Did you mean ${suggested.join(" or ")}?`;
}

/** Reads a rule or one of its additional bindings, which cannot be nested. */
function readBinding(item: YamlNode, nodes: Nodes, method: DescMethod, isAdditional = false): HttpRule {
  const rule = create(HttpRuleSchema);
  const patterns: string[] = [];
  for (const [key, node] of nodes.map(item, "a rule")) {
    const verb = VERBS.find((each) => each === key);
    if (verb !== undefined) {
      patterns.push(key);
      rule.pattern = { case: verb, value: nodes.text(node, key) };
    } else if (key === "custom") {
      patterns.push(key);
      rule.pattern = { case: key, value: readCustom(node, nodes) };
    } else if (key === "body") {
      rule.body = nodes.text(node, key);
    } else if (key === "response_body" || key === "responseBody") {
      rule.responseBody = nodes.text(node, key);
    } else if ((key === "additional_bindings" || key === "additionalBindings") && !isAdditional) {
      rule.additionalBindings = nodes.list(node, key).map((each) => readBinding(each, nodes, method, true));
    } else if (key !== "selector") {
      const keys = [
        ...VERBS,
        "custom",
        "body",
        "response_body",
        ...(isAdditional ? [] : ["selector", "additional_bindings"]),
      ];
      throw nodes.error(node ?? item, `unknown key ${quoted(key)} in a rule`, `Valid keys: ${keys.join(", ")}.`);
    }
  }
  if (patterns.length !== 1) {
    const found = patterns.length === 0 ? "no path" : `several paths (${patterns.join(", ")})`;
    throw nodes.error(
      item,
      `the rule has ${found}`,
      `Use one of ${[...VERBS, "custom"].join(", ")}, and put additional paths into additional_bindings.`,
    );
  }
  checkFields(rule, item, nodes, method);
  return rule;
}

function readCustom(node: YamlNode, nodes: Nodes) {
  const fields = nodes.map(node, "custom");
  const kind = nodes.text(fields.get("kind"), "kind");
  if (!/^[A-Za-z]+$/.test(kind)) {
    throw nodes.error(fields.get("kind"), `${quoted(kind)} is not an HTTP method`, "Use a kind such as HEAD.");
  }
  return { $typeName: "google.api.CustomHttpPattern" as const, kind, path: nodes.text(fields.get("path"), "path") };
}

/** Checks the path of a rule, and that the fields that the rule names exist. */
function checkFields(rule: HttpRule, item: YamlNode, nodes: Nodes, { input, output }: DescMethod): void {
  const { path = "" } = verbAndPath(rule) ?? {};
  const invalid = (what: string) =>
    nodes.error(
      item,
      what,
      "Write paths such as /v1/{name=shelves/*}/books, with names of fields of the request in braces.",
    );
  let variables: readonly (readonly string[])[];
  try {
    variables = parsePathTemplate(path).variables.map(({ fieldPath }) => fieldPath);
  } catch (cause) {
    throw invalid(cause instanceof Error ? cause.message : String(cause));
  }
  for (const fieldPath of variables) {
    let desc: DescMessage | undefined = input;
    for (const name of fieldPath) {
      const field: DescField | undefined = desc && findField(desc, name);
      if (field === undefined) {
        throw invalid(`${quoted(path)} contains {${fieldPath.join(".")}}, which is not a field of ${input.typeName}`);
      }
      desc = field.fieldKind === "message" ? field.message : undefined;
    }
  }
  for (const [key, name, desc] of [
    ["body", rule.body, input],
    ["response_body", rule.responseBody, output],
  ] as const) {
    if (name !== "" && !(key === "body" && name === "*") && findField(desc, name) === undefined) {
      const star = key === "body" ? ', or "*" for all fields' : "";
      throw nodes.error(
        item,
        `${key} must be a field of ${desc.typeName} (got ${quoted(name)})`,
        `Use one of its fields${star}.`,
      );
    }
  }
}
