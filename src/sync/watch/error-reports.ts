import { truncate } from "../../base/errors/error-text.js";
import { codeName, type TradewireError } from "../../base/errors/index.js";
import { type DataNodeLag, describeLag } from "../../data/history/data-node-lag.js";
import type { Unit } from "../unit.js";
import type { ErrorReport, LagReport, Loaded, NodeReport } from "./sync-snapshot.js";
import { addLoaded } from "./table-progress.js";

/** Maximum number of errors that are listed. */
const MAX_ERRORS = 20;

/** Maximum number of kinds of errors that are counted separately; others count as `other`. */
const MAX_KINDS = 100;

/** Maximum number of nodes that are listed separately; others count as `other`. */
const MAX_NODES = 100;

/** Maximum number of characters of a text from outside. */
const MAX_TEXT = 400;

/** The facts about an error that are not in the error. Times are milliseconds since 1970. */
export interface ErrorFacts {
  readonly at: number;
  readonly unit?: Unit;
  readonly attempt?: number;
  readonly againMs?: number | undefined;
}

/** Creates a log of the last errors. Equal errors share an entry, and all errors are counted by kind. */
export function createErrorLog() {
  const last: ErrorReport[] = [];
  const counts = new Map<string, number>();
  return {
    add(error: TradewireError, facts: ErrorFacts): ErrorReport {
      const made = reportOf(error, facts);
      const same = last.findIndex(({ kind, message, advice }) => {
        return kind === made.kind && message === made.message && advice === made.advice;
      });
      const [before] = same < 0 ? [] : last.splice(same, 1);
      const report = { ...made, count: made.count + (before?.count ?? 0) };
      last.unshift(report);
      last.length = Math.min(last.length, MAX_ERRORS);
      const kind = counts.has(report.kind) || counts.size < MAX_KINDS ? report.kind : "other";
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      return report;
    },
    show: () => ({ errors: [...last], errorCounts: Object.fromEntries(counts) }),
  };
}

function reportOf(error: TradewireError, { at, unit, attempt, againMs }: ErrorFacts): ErrorReport {
  return {
    at: new Date(at).toISOString(),
    kind: `${error.name} ${codeName(error.code)}`,
    message: plain(error.summary),
    advice: plain(error.advice),
    count: 1,
    ...(unit && { unit: { table: unit.table, fromBlock: unit.fromBlock, toBlock: unit.toBlock } }),
    ...(attempt === undefined ? {} : { attempt }),
    ...(againMs === undefined ? {} : { againAt: new Date(at + againMs).toISOString() }),
  };
}

export function createNodeReports() {
  const nodes = new Map<string, Loaded>();
  const lags = new Map<string, LagReport>();
  const nothing = { units: 0, rows: 0n, bytes: 0n };
  /** Returns the displayed name of a node, and adds it to the list. */
  function nameOf(node: string): string {
    const name = plain(node.replace(/\/\/[^/@]*@/, "//")); // A URL may hold a password.
    const known = nodes.has(name) || nodes.size < MAX_NODES ? name : "other";
    nodes.set(known, nodes.get(known) ?? nothing);
    return known;
  }
  return {
    name: nameOf,
    compare(node: string, lag: DataNodeLag): void {
      lags.set(nameOf(node), lagReport(lag));
    },
    add(name: string | undefined, { rows, bytes }: { readonly rows: bigint; readonly bytes: bigint }): void {
      if (name === undefined) {
        return; // The start of the unit was not reported.
      }
      nodes.set(name, addLoaded(nodes.get(name) ?? nothing, { units: 1, rows, bytes }));
    },
    show(underWay: readonly { readonly node: string }[]): NodeReport[] {
      return [...nodes].map(([name, loaded]) => {
        const lag = lags.get(name);
        return {
          name,
          ...loaded,
          underWay: underWay.filter(({ node }) => node === name).length,
          ...(lag && { lag }),
        };
      });
    },
  };
}

function lagReport(lag: DataNodeLag): LagReport {
  const { state, behindCoreMs, behindClockMs } = lag;
  return {
    state,
    ...(behindCoreMs === undefined ? {} : { behindCoreSeconds: behindCoreMs / 1000 }),
    behindClockSeconds: behindClockMs / 1000,
    text: describeLag(lag),
  };
}

/** Returns a text from outside on one line: without credentials, control characters and bidirectional formatting. */
function plain(text: string): string {
  return truncate(maskSecrets(text), MAX_TEXT).replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ");
}

/** Maximum length of the text that is masked. The displayed part is much shorter. */
const MAX_MASKED = 16_384;

/** Between the words of a name: `api_key`, `api-key`, `apiKey`, `api key`. */
const GAP = "[-_. ]?";
/** The kinds of keys that are secret. A public key is not. */
const KEYS = "(?:api|access|auth|encryption|master|private|secret|session|shared|signing|ssh)";
/** The last words of names whose values are secret, regardless of the preceding words. */
const NAME = `(?:pass(?:word|wd|phrase|code)s?|pwd|secret|token|credentials?|cookie|jwt|mnemonic|(?:recovery|seed)${GAP}phrase|session${GAP}id|${KEYS}${GAP}key)`;
/** Such words that other words end with, such as `bypass`. */
const SHORT_NAME =
  "(?:(?<![A-Za-z])(?:pass|Pass|PASS|pw|PW|seed|Seed|SEED)|(?<=[a-z])(?:Pass|Pw|Seed)|(?<=[A-Z]_)(?:PASS|PW|SEED))";
/** Names that are secret in the query of a URL. Elsewhere they may stand for anything. */
const QUERY_NAME = "(?:key|sig|signature|x-amz-signature|x-amz-credential|code|auth|sid)";

/** The separator between a name and its value: `=`, `:`, `": "`, `%3D`, `=>`, `: [`. */
const SEPARATOR = `\\d{0,3}(?:[-_]?(?:value|hash))?\\\\*["'\\]]*\\s*(?:=>|=|:|%3D|%3A)\\s*\\[?\\s*`;
/** A value in quotes, which may be escaped, or whose end is missing. */
const QUOTED = `(?:\\\\+"[^"]*"?|"(?:[^"\\\\]|\\\\.)*"?|'(?:[^'\\\\]|\\\\.)*'?)`;
/** A value without quotes. Signs that may end it belong to it if more than the end of a text or list follows. */
const BARE = `(?:[^\\s&;,"'<})\\]]|&(?![\\w.-]+=)|<(?!/[\\w:.-]+>)|[;,"'})\\]](?![;,"'})\\]]{0,20}(?:\\s|$)))+`;
const VALUE = `(?:${QUOTED}|${BARE})`;
/** The words of a mnemonic. */
const WORDS = "[a-z]{3,8}(?: +[a-z]{3,8}){11,}";

const HEADER = `(authorization\\\\*["']?\\s*(?:=>|=|:|,|%3D|%3A)\\s*\\[?\\s*)`;

const RULES: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/gu, "***"],
  // The user and password of a URL. After a colon, they may have all that ends them elsewhere.
  [/([a-z][a-z0-9+.-]{0,20}:\/\/)(?:[^\s/?#"<>:]{0,2000}:[^\s"<>]{0,2000}|[^\s/?#"<>]{0,2000})@/giu, "$1***@"],
  [/(%3A%2F%2F)[^\s"<>&]{0,2000}(?:%40|@)/giu, "$1***@"],
  // Tokens with a form of their own: JSON Web Tokens, and those of known services.
  [/\beyJ[\w-]{5,2000}\.[\w-]+(?:\.[\w-]*)*/gu, "***"],
  [/\b(?:gh[a-z]_|github_pat_|glpat-|sk[-_]|xox[a-z]-|AKIA|AIza|npm_)[\w-]{12,}/gu, "***"],
  // Authorization: SCHEME VALUE, with further parts; a single value includes the word after it.
  [new RegExp(`${HEADER}(?:${QUOTED}|${BARE}(?:\\s+[^\\s,;]+)?(?:,\\s*\\w+=(?:"[^"]*"|[^\\s,]+))*)`, "giu"), "$1***"],
  [
    new RegExp(`(cookie\\\\*["']?\\s*(?:=>|=|:|,)\\s*)(?:${QUOTED}|${BARE}(?:;\\s*[^\\s;,"'=]+=${BARE})*)`, "giu"),
    "$1***",
  ],
  [/\b(bearer|basic|digest|negotiate|ntlm)\s+[\w.~+/=-]+/giu, "$1 ***"],
  [new RegExp(`(${NAME}${SEPARATOR})${WORDS}`, "giu"), "$1***"],
  [new RegExp(`(${SHORT_NAME}${SEPARATOR})${WORDS}`, "gu"), "$1***"],
  // NAME=VALUE, NAME: VALUE and "NAME": "VALUE", in queries, headers, settings and JSON.
  [new RegExp(`(${NAME}${SEPARATOR})${VALUE}`, "giu"), "$1***"],
  [new RegExp(`(${SHORT_NAME}${SEPARATOR})${VALUE}`, "gu"), "$1***"],
  [new RegExp(`([?&]${QUERY_NAME}=)${BARE}`, "giu"), "$1***"],
  // <NAME>VALUE</NAME>, --NAME VALUE, ['NAME', 'VALUE'], and SQL's PASSWORD 'VALUE'.
  [new RegExp(`(<[\\w:.-]{0,40}(?:${NAME}|pass|seed)>)[^<]*`, "giu"), "$1***"],
  [new RegExp(`(--[\\w-]{0,40}?(?:${NAME}|pass|seed)\\s+)${VALUE}`, "giu"), "$1***"],
  [new RegExp(`(["'][\\w.-]{0,40}${NAME}["'],\\s*)${QUOTED}`, "giu"), "$1***"],
  [new RegExp(`(pass(?:word|wd|phrase)\\s+)${QUOTED}`, "giu"), "$1***"],
];

/**
 * Masks credentials in a text from outside: user and password of URLs, tokens, private keys, and the values of headers,
 * parameters and settings with names such as `authorization`, `accessToken` and `db_password`. If the end of a secret is unclear,
 * more text is masked rather than less. 64 hex digits by themselves are shown, because identifiers of parties, markets and orders
 * have that form.
 */
function maskSecrets(text: string): string {
  // A truncated secret may lack what identifies it.
  const end = text.length > MAX_MASKED ? text.lastIndexOf(" ", MAX_MASKED) : -1;
  const start = text.slice(0, end === -1 ? MAX_MASKED : end);
  return RULES.reduce((before, [form, mask]) => before.replace(form, mask), start);
}
