import { readFileSync } from "node:fs";
import type { TlsConfig } from "../config/schema.js";
import { fileError, quotedPath, readingAdvice } from "../errors/file-error.js";
import { RequestError } from "../errors/index.js";

/** Options of Node's TLS, with the contents of the files that a configuration names. */
export interface TlsMaterial {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly servername?: string;
}

/**
 * Read the files of a TLS configuration.
 *
 * @param config the paths of PEM files, and the name for the server's certificate; by default none
 * @returns the options that the configuration sets
 * @throws {@link FileError} where one cannot be read; {@link RequestError} where it holds something else
 */
export function readTls({ caFile, certFile, keyFile, serverName }: TlsConfig = {}): TlsMaterial {
  return {
    ...(caFile !== undefined && { ca: read(caFile, "CERTIFICATE") }),
    ...(certFile !== undefined && { cert: read(certFile, "CERTIFICATE") }),
    ...(keyFile !== undefined && { key: read(keyFile, "PRIVATE KEY") }),
    ...(serverName !== undefined && { servername: serverName }),
  };
}

/** Read a PEM file. Node's TLS takes one that holds nothing fitting as if it were empty. */
function read(path: string, label: "CERTIFICATE" | "PRIVATE KEY"): Buffer {
  const content = contentOf(path);
  if (!new RegExp(`-----BEGIN [A-Z0-9 ]*${label}-----`).test(content.toString("latin1"))) {
    throw new RequestError(`${quotedPath(path)} holds no ${label.toLowerCase()} in PEM`, {
      advice: `Give a file with a part that begins with -----BEGIN ${label}-----.`,
      section: "requesterror-configuration",
    });
  }
  return content;
}

function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (reason) {
    throw fileError(reason, path, readingAdvice);
  }
}
