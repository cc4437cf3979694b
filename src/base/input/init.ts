import type { DescMessage, JsonObject, Message, MessageShape } from "@bufbuild/protobuf";
import type { EnumFields } from "../../../gen/names/enums.js";

/**
 * The initial values of a message: a message, or its fields as an object, at any depth. Enum values may be names, with or without
 * their prefix, such as `"SIDE_BUY"` or `"BUY"`, and 64-bit integers may be numbers.
 */
export type InitOf<Desc extends DescMessage> =
  Message extends MessageShape<Desc> ? Record<string, unknown> : MessageInit<MessageShape<Desc>>;

type MessageInit<M extends Message> = M | FieldsInit<M>;

/** The fields of a message as an object, which may be a copy of a message. */
export type FieldsInit<M extends Message> = {
  readonly [Name in keyof M]?:
    | (Name extends "$typeName" | "$unknown" ? M[Name] : FieldInit<M[Name], M["$typeName"], Name>)
    | undefined;
};

/** The names of the values of a field's enum; any text for an enum of other definitions. */
type NamesIn<Type, Name> = Type extends keyof EnumFields
  ? Name extends keyof EnumFields[Type]
    ? EnumFields[Type][Name]
    : string
  : string;

type FieldInit<Field, Type, Name> = [Field] extends [number | undefined]
  ? Field | EnumName<NonNullable<Field>, NamesIn<Type, Name>>
  : Field extends string | boolean | Uint8Array | undefined
    ? Field
    : Field extends bigint
      ? bigint | number
      : Field extends readonly (infer Item)[]
        ? readonly FieldInit<Item, Type, Name>[]
        : Field extends Message
          ? MessageInit<Field>
          : Field extends { case: infer Case extends string; value: infer Value }
            ? { readonly case: Case; readonly value: FieldInit<Value, Type, Case> }
            : Field extends { case: undefined }
              ? Field
              : JsonObject extends Field
                ? Field
                : { readonly [Key in keyof Field]: FieldInit<Field[Key], Type, Name> };

/** The names of an enum; none for a number. As text, a number is any number, and an enum is one of its own. */
type EnumName<Value extends number, Names> = `${number}` extends `${Value}` ? never : Names;
