import { readFileSync } from "node:fs";
import type { TlsConfig } from "../config/schema.js";
import { fileError, readingAdvice } from "../errors/file-error.js";

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
 * @throws {@link FileError} where one cannot be read
 */
export function readTls({ caFile, certFile, keyFile, serverName }: TlsConfig = {}): TlsMaterial {
  return {
    ...(caFile !== undefined && { ca: read(caFile) }),
    ...(certFile !== undefined && { cert: read(certFile) }),
    ...(keyFile !== undefined && { key: read(keyFile) }),
    ...(serverName !== undefined && { servername: serverName }),
  };
}

function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (reason) {
    throw fileError(reason, path, readingAdvice);
  }
}
