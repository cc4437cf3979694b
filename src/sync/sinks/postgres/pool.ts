/** A pool of the package `pg`, as far as a sink needs to know it: its types are needed by those alone who use `pg`. */
export interface PostgresPool {
  readonly options: {
    readonly max: number;
    readonly connectionString?: string | undefined;
    readonly host?: string | undefined;
    readonly port?: number | undefined;
    readonly database?: string | undefined;
    readonly password?: unknown;
  };
  connect(): Promise<object>;
  on(event: "error", listener: (error: Error) => void): unknown;
}
