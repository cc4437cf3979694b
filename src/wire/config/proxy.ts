import { BlockList, isIP } from "node:net";
import type { ProxyConfig } from "./client-config.js";
import { isLoopback } from "./loopback.js";

/** Returns the proxy through which a server is reached. Loopback hosts are always reached directly. */
export function proxyFor(proxy: ProxyConfig | undefined, url: string): string | undefined {
  const { protocol, hostname, port } = new URL(url);
  if (proxy === undefined || proxy === false || isLoopback(hostname)) {
    return undefined;
  }
  if (typeof proxy === "string") {
    return proxy;
  }
  const chosen = protocol === "https:" ? proxy.https : proxy.http;
  const effectivePort = port || (protocol === "https:" ? "443" : "80");
  const isDirect = proxy.noProxy?.some((rule) => matches(rule, hostname.replace(/^\[|\]$/g, ""), effectivePort));
  return isDirect === true ? undefined : chosen;
}

/**
 * Returns whether a rule of `NO_PROXY` matches a host. The rules are those of Go (golang.org/x/net/http/httpproxy): `*`, an IP
 * address, a range such as `10.0.0.0/8`, or a domain, which includes its subdomains; `.example.com` and `*.example.com` stand for
 * the subdomains only. A port may follow an address or a domain.
 */
function matches(rule: string, host: string, port: string): boolean {
  const text = rule.trim().toLowerCase();
  if (text === "*") {
    return true;
  }
  const version = isIP(host);
  const [, prefix = "", bits] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  if (bits !== undefined) {
    return version !== 0 && isIP(prefix) === version && isInRange(host, prefix, Number(bits), version);
  }
  const { name, onlyPort } = isIP(text) === 0 ? splitPort(text) : { name: text, onlyPort: undefined };
  if (name === "" || (onlyPort !== undefined && onlyPort !== port)) {
    return false;
  }
  if (version !== 0 || isIP(name) !== 0) {
    return isIP(name) === version && isInRange(host, name, version === 4 ? 32 : 128, version);
  }
  const suffix = name.replace(/^\*(?=\.)/, "");
  return suffix.startsWith(".") ? host.endsWith(suffix) : host === suffix || host.endsWith(`.${suffix}`);
}

function splitPort(text: string): { readonly name: string; readonly onlyPort: string | undefined } {
  const [, bracketed, plain, onlyPort] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(text) ?? [];
  return { name: bracketed ?? plain ?? "", onlyPort };
}

function isInRange(host: string, prefix: string, bits: number, version: number): boolean {
  const type = version === 4 ? "ipv4" : "ipv6";
  if (bits > (version === 4 ? 32 : 128)) {
    return false;
  }
  const range = new BlockList();
  range.addSubnet(prefix, bits, type);
  return range.check(host, type);
}

/** Returns a proxy's URL without user name and password. */
export function proxyName(url: string): string {
  return new URL(url).origin;
}

/** Returns the configuration's `proxy` without passwords, for display. */
export function maskProxy(proxy: ProxyConfig): ProxyConfig {
  if (typeof proxy === "object") {
    const { https, http, noProxy } = proxy;
    return {
      ...(https !== undefined && { https: maskUrl(https) }),
      ...(http !== undefined && { http: maskUrl(http) }),
      ...(noProxy !== undefined && { noProxy }),
    };
  }
  return proxy === false ? proxy : maskUrl(proxy);
}

/** Masks the user name and password, in each form that `URL` accepts, such as `http:user:password@host`. */
function maskUrl(url: string): string {
  const { username, password, host, protocol } = new URL(url);
  return username === "" && password === "" ? url : `${protocol}//***@${host}`;
}
