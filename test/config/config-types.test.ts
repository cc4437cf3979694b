import { expect, it } from "@jest/globals";
import type { ClientConfig, Config } from "tradewire";
import type { SchemaInput, SchemaOutput } from "../../src/config/schema.js";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** A type with what it is put together from as one, and with nothing in it that can be changed. */
type Flat<T> = T extends object ? { readonly [Key in keyof T]: Flat<T[Key]> } : T;
type Url = "grpc" | "rest";
type Chosen = Url | "transport";

it("declares what the schema takes, and what it gives", () => {
  const equal: [
    Equal<Flat<Omit<ClientConfig, Url>>, Flat<Omit<SchemaInput, Url>>>,
    Equal<Flat<ClientConfig["grpc"]>, Flat<SchemaInput["grpc"]>>,
    Equal<Flat<ClientConfig["rest"]>, Flat<SchemaInput["rest"]>>,
    Equal<Flat<Omit<Config, Chosen>>, Flat<Omit<SchemaOutput, Chosen>>>,
    Equal<Flat<Config["grpc"]>, Flat<SchemaOutput["grpc"]>>,
    Equal<Flat<Config["rest"]>, Flat<SchemaOutput["rest"]>>,
    Equal<Config["transport"], NonNullable<SchemaOutput["transport"]>>,
  ] = [true, true, true, true, true, true, true];
  expect(equal).not.toContain(false);
});
