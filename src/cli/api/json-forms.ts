const named = (...names: string[]): ReadonlySet<string> => new Set(names.map((name) => `google.protobuf.${name}`));

/** Protobuf's own messages whose JSON is one value, which can be given as text. */
export const TEXT_FORMS = named(
  ...["Timestamp", "Duration", "FieldMask", "BoolValue", "BytesValue", "StringValue"],
  ...["DoubleValue", "FloatValue", "Int32Value", "Int64Value", "UInt32Value", "UInt64Value"],
);

/** Protobuf's own messages whose JSON has names that are not those of fields. */
export const FREE_FORMS = named("Any", "ListValue", "Struct", "Value");
