import { isIP } from "node:net";

/**
 * Make the check of a request's `Host` header. A page of somebody else's whose name is made to lead to this machine (DNS
 * rebinding) sends its own name, and learns nothing.
 *
 * @param host where the server listens
 * @param names further names that the server goes by, such as that of a container
 * @returns whether the header names this server; the port is ignored, as tunnels change it
 */
export function hostCheck(host: string, names: readonly string[]): (header: string | undefined) => boolean {
  const own = new Set(["localhost", "::1", host, ...names].map((name) => name.toLowerCase()));
  const everywhere = host === "0.0.0.0" || host === "::";
  return (header = "") => {
    const { v6, name } = /^(?:\[(?<v6>[\da-f:.]+)\]|(?<name>[\w.-]+))(?::\d{1,5})?$/i.exec(header)?.groups ?? {};
    const asked = (v6 ?? name ?? "").toLowerCase();
    // An address cannot be made to lead elsewhere. Where the server listens on all of them, each is its own.
    return own.has(asked) || /^127(\.\d{1,3}){3}$/.test(asked) || (everywhere && isIP(asked) !== 0);
  };
}
