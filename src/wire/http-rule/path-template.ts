import { RequestError } from "../../base/errors/index.js";

/** A segment of a path: fixed text, `*` (any one segment) or `**` (any number of segments, at the end). */
type Segment = string | { readonly wildcard: "*" | "**" };

/** A variable of a path template: a field of the request, and the segments of its value. */
interface PathVariable {
  /** The path of the field, with the names of the definitions, from the request message down. */
  readonly fieldPath: readonly string[];
  /** The first of its segments. */
  readonly start: number;
  /** The segment after its last one. */
  readonly end: number;
}

/** A path template of `google.api.http`, such as `/api/v2/network/parameters/{key}`. */
export interface PathTemplate {
  readonly text: string;
  readonly segments: readonly Segment[];
  readonly variables: readonly PathVariable[];
  /** The text after a colon at the end, which may contain more colons; empty if there is none. */
  readonly verb: string;
}

/**
 * Parses a path template according to the grammar of `google.api.http`.
 *
 * @throws Error if the template violates the grammar, which is an error of the definitions, not of a call
 */
export function parsePathTemplate(text: string): PathTemplate {
  const segments: Segment[] = [];
  const variables: PathVariable[] = [];
  const match = /^\/((?:\{[^{}]*\}|[^{}:])*)(?::([^/{}]+))?$/.exec(text);
  if (match === null) {
    throw new Error(`"${text}" is not a path template: expected "/" segments [":" verb]`);
  }
  // A slash inside braces belongs to the pattern of the variable.
  for (const part of (match[1] ?? "").split(/\/(?![^{]*\})/)) {
    const variable = /^\{([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:=([^{}]+))?\}$/.exec(part);
    if (variable === null) {
      segments.push(segment(part, text));
      continue;
    }
    const [, fieldPath = "", pattern = "*"] = variable;
    const start = segments.length;
    segments.push(...pattern.split("/").map((s) => segment(s, text)));
    variables.push({ fieldPath: fieldPath.split("."), start, end: segments.length });
  }
  if (segments.slice(0, -1).some((s) => typeof s === "object" && s.wildcard === "**")) {
    throw new Error(`"${text}" is not a path template: "**" must be its last segment`);
  }
  return { text, segments, variables, verb: match[2] ?? "" };
}

function segment(text: string, template: string): Segment {
  if (text === "*" || text === "**") {
    return { wildcard: text };
  }
  if (text === "" || /[{}*]/.test(text)) {
    throw new Error(`"${template}" is not a path template: "${text}" is not a segment`);
  }
  return text;
}

/**
 * Expands a template to a path.
 *
 * @throws {@link RequestError} if a value does not fit its variable, or a wildcard has no variable
 */
export function expandPath(template: PathTemplate, values: readonly string[]): string {
  const { fixed, patterns } = partsOf(template);
  let path = fixed[0] ?? "";
  template.variables.forEach((variable, index) => {
    const value = values[index] ?? "";
    const pattern = patterns[index] ?? [];
    const isSegment = pattern.length === 1 && isSingle(pattern[0]);
    const parts = isSegment ? [value] : value.split("/");
    if (!(isSegment || fits(parts, pattern)) || !parts.every(isPart)) {
      throw new RequestError(
        `${variable.fieldPath.join(".")} is ${JSON.stringify(value)}, which the path ${template.text} cannot contain`,
        {
          errorCode: "TW_NOT_OVER_REST",
          advice: "Use a value that is not empty, is not . or .., and matches the path.",
        },
      );
    }
    for (const part of parts) {
      path += `/${encodeURIComponent(part)}`;
    }
    path += fixed[index + 1] ?? "";
  });
  return `${path === "" ? "/" : path}${template.verb === "" ? "" : `:${template.verb}`}`;
}

/** The parts of a template that are the same in each path. */
interface TemplateParts {
  /** The fixed parts of a path, before, between and after its variables. */
  readonly fixed: readonly string[];
  /** The segments of each variable. */
  readonly patterns: readonly (readonly Segment[])[];
}

const knownParts = new WeakMap<PathTemplate, TemplateParts>();

function partsOf(template: PathTemplate): TemplateParts {
  let parts = knownParts.get(template);
  if (parts === undefined) {
    const { segments, variables } = template;
    const ends = variables.map(({ start }) => start);
    const starts = [0, ...variables.map(({ end }) => end)];
    const fixed = starts.map((start, index) => fixedPath(template, start, ends[index]));
    parts = { fixed, patterns: variables.map(({ start, end }) => segments.slice(start, end)) };
    knownParts.set(template, parts);
  }
  return parts;
}

function fixedPath({ text, segments }: PathTemplate, start: number, end?: number): string {
  const parts = segments.slice(start, end).map((s) => {
    if (typeof s === "object") {
      throw new RequestError(`the path ${text} has a wildcard without a field of the request`, {
        errorCode: "TW_NOT_OVER_REST",
        advice: "Call this method over gRPC.",
      });
    }
    return `/${encodeURIComponent(s)}`;
  });
  return parts.join("");
}

function isSingle(s: Segment | undefined): boolean {
  return typeof s === "object" && s.wildcard === "*";
}

/** Returns whether a text can be a segment of a path. */
function isPart(text: string): boolean {
  return !/^\.{0,2}$|\p{Surrogate}/u.test(text);
}

function fits(parts: readonly string[], pattern: readonly Segment[]): boolean {
  const deep = pattern.findIndex((s) => typeof s === "object" && s.wildcard === "**");
  if (deep === -1 ? parts.length !== pattern.length : parts.length < deep) {
    return false;
  }
  return pattern.every((s, i) => typeof s === "object" || s === parts[i]);
}

/** Matches a path against a template. */
export function matchPath(template: PathTemplate, path: string): string[] | undefined {
  const suffix = template.verb === "" ? "" : `:${template.verb}`;
  if (!path.startsWith("/") || !path.endsWith(suffix)) {
    return undefined;
  }
  let parts: string[];
  try {
    parts = path
      .slice(1, path.length - suffix.length)
      .split("/")
      .map(decodeURIComponent);
  } catch {
    return undefined; // Not valid percent-encoded UTF-8.
  }
  if (!fits(parts, template.segments)) {
    return undefined;
  }
  return template.variables.map(({ start, end }) =>
    parts.slice(start, end === template.segments.length ? parts.length : end).join("/"),
  );
}
