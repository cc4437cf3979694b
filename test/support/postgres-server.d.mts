/** A PostgreSQL server of its own. */
export interface ServerProcess {
  /** The URL of its database `postgres`, for its superuser. */
  readonly url: string;
  pid(): number | undefined;
  /** Kill it as a loss of power would, and start it again on the same port. */
  killAndStart(): Promise<void>;
  /** The same, and between the two copy its files away, or those that were copied away back. */
  killAndSave(restoring?: boolean): Promise<void>;
  /** Stop it, and remove its folder. */
  stop(): Promise<void>;
}

/**
 * Start a PostgreSQL on a port of loopback that the system gives, with its programs and its data in a temporary folder. Run
 * by root, it is started as `nobody`. It is killed with the process.
 */
export function startServer(settings?: readonly string[]): Promise<ServerProcess>;
