import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import type { EnumFields } from "../../../gen/names/enums.js";

/**
 * The initial values of a message: a message, or its fields as an object, at any depth. Enum values may be names, with or without
 * their prefix, such as `"SIDE_BUY"` or `"BUY"`.
 */
export type InitOf<Desc extends DescMessage> =
  Message extends MessageShape<Desc> ? Record<string, unknown> : MessageInit<MessageShape<Desc>>;

type MessageInit<M extends Message> = M | FieldsInit<M>;

/** The fields of a message as an object. */
export type FieldsInit<M extends Message> = {
  readonly [Name in keyof M as Name extends "$unknown" ? never : Name]?: Name extends "$typeName"
    ? never
    : FieldInit<M[Name], NamesIn<M["$typeName"], Name>>;
};

/** The names of the values of a field's enum; any text for an enum of other definitions. */
type NamesIn<Type, Name> = Type extends keyof EnumFields
  ? Name extends keyof EnumFields[Type]
    ? EnumFields[Type][Name]
    : string
  : string;

type FieldInit<Field, Names> = [Field] extends [number | undefined]
  ? Field | EnumName<NonNullable<Field>, Names>
  : Field extends string | bigint | boolean | Uint8Array | undefined
    ? Field
    : Field extends readonly (infer Item)[]
      ? readonly FieldInit<Item, Names>[]
      : Field extends Message
        ? MessageInit<Field>
        : Field extends { case: infer Case extends string; value: infer Value extends Message }
          ? { readonly case: Case; readonly value: MessageInit<Value> }
          : Field extends { [key: string]: infer Value extends Message }
            ? { readonly [key: string]: MessageInit<Value> }
            : Field;

/** The names of an enum; none for a number. As text, a number is any number, and an enum is one of its own. */
type EnumName<Value extends number, Names> = `${number}` extends `${Value}` ? never : Names;
