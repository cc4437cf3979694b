import { isIP } from "node:net";
import { RequestError } from "../../errors/index.js";
import { quoted } from "../../errors/quoted.js";

/** Where a server listens. */
export interface ListenAddress {
  /** A name, an IPv4 address, or an IPv6 address without brackets. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

const LOOPBACK = "127.0.0.1";
const FORM = /^(?:\[(?<v6>[\da-f:.]+)\]|(?<name>[\w.-]*)):(?<port>\d{1,5})$/i;

/**
 * Read the address that a server is to listen on.
 *
 * @param listen `host:port`; an IPv6 address in brackets; without a host, 127.0.0.1
 * @returns host and port
 * @throws {@link RequestError} where it is something else
 *
 * @example
 * parseListen("127.0.0.1:9464"); // { host: "127.0.0.1", port: 9464 }
 */
export function parseListen(listen: string): ListenAddress {
  const { v6, name, port: digits } = FORM.exec(listen)?.groups ?? {};
  const port = Number(digits);
  if (digits === undefined || port > 65_535 || (v6 !== undefined && isIP(v6) !== 6)) {
    throw new RequestError(`${quoted(listen)} is no address to listen on`, {
      advice: "Give host:port, such as 127.0.0.1:9464 or [::1]:9464; port 0 takes a free one.",
    });
  }
  return { host: v6 ?? (name || LOOPBACK), port };
}
