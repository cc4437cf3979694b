/** The members of a pool of the package `pg` that a sink uses, so that only users of `pg` need its types. */
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
