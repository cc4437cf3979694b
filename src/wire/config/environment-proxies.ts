import { RequestError } from "../../base/errors/index.js";
import type { ProxyRules } from "./client-config.js";
import { isProxyUrl, PROXY_FORM } from "./config-schema.js";
import type { Environment, SourcedValue } from "./config-sources.js";
import { proxyFor } from "./proxy.js";

/**
 * Reads the proxies that the environment names: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, whose lower-case names take
 * precedence, as in curl. A proxy without a scheme has `http:`. In a CGI program, where a client chooses `HTTP_PROXY` by a
 * header, only the lower-case name is read (https://httpoxy.org).
 *
 * @throws {@link RequestError} if a variable that is needed is not the URL of an HTTP proxy; the error never shows it
 */
export function readEnvironmentProxies(environment: Environment, urls: readonly string[]): SourcedValue[] {
  const find = (...names: readonly string[]) =>
    names.flatMap((name) => {
      const text = environment[name]?.trim();
      return text === undefined || text === "" ? [] : [{ name, text }];
    })[0];
  const isCgi = (environment["REQUEST_METHOD"] ?? "") !== "";
  const https = find("https_proxy", "HTTPS_PROXY");
  const http = isCgi ? find("http_proxy") : find("http_proxy", "HTTP_PROXY");
  const except = find("no_proxy", "NO_PROXY");
  const rules: ProxyRules = {
    ...(https && { https: withScheme(https.text) }),
    ...(http && { http: withScheme(http.text) }),
    ...(except && { noProxy: except.text.split(/[\s,]+/).filter((rule) => rule !== "") }),
  };
  const used = new Set(urls.flatMap((url) => proxyFor(rules, url) ?? []));
  if (used.size === 0) {
    return [];
  }
  for (const [variable, url] of [
    [https, rules.https],
    [http, rules.http],
  ] as const) {
    if (variable !== undefined && url !== undefined && used.has(url) && !isProxyUrl(url)) {
      throw new RequestError(`environment variable ${variable.name} ${PROXY_FORM}`, {
        errorCode: "TW_CONFIGURATION",
        advice: "Correct or unset it, add the node to NO_PROXY, or set proxy to false (TRADEWIRE_PROXY=false).",
      });
    }
  }
  const names = [https, http, except].flatMap((each) => each?.name ?? []);
  const source = `environment variable${names.length === 1 ? "" : "s"} ${names.join(", ")}`;
  return [{ path: ["proxy"], value: rules, source, kind: "environment" }];
}

const withScheme = (text: string) => (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
