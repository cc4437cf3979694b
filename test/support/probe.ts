// A service for tests of transports. It has one method for each way in which a call can stream, with well-known types,
// and two that only read: those have an HTTP rule.
import { create, createFileRegistry, type DescMethod, setExtension } from "@bufbuild/protobuf";
import {
  BytesValueSchema,
  FileDescriptorProtoSchema,
  file_google_protobuf_wrappers,
  MethodOptionsSchema,
  StringValueSchema,
} from "@bufbuild/protobuf/wkt";
import { http } from "tradewire/gen/google/api/annotations_pb.js";
import { HttpRuleSchema } from "tradewire/gen/google/api/http_pb.js";

const TEXT = ".google.protobuf.StringValue";
const BYTES = ".google.protobuf.BytesValue";

const options = create(MethodOptionsSchema);
setExtension(options, http, create(HttpRuleSchema, { pattern: { case: "get", value: "/probe" } }));

const registry = createFileRegistry(
  create(FileDescriptorProtoSchema, {
    name: "probe.proto",
    package: "test",
    syntax: "proto3",
    dependency: [file_google_protobuf_wrappers.proto.name],
    service: [
      {
        name: "Probe",
        method: [
          { name: "Say", inputType: TEXT, outputType: TEXT },
          { name: "Send", inputType: TEXT, outputType: BYTES, serverStreaming: true },
          { name: "Join", inputType: TEXT, outputType: TEXT, clientStreaming: true },
          { name: "Talk", inputType: TEXT, outputType: TEXT, clientStreaming: true, serverStreaming: true },
          { name: "Read", inputType: TEXT, outputType: TEXT, options },
          { name: "Watch", inputType: TEXT, outputType: TEXT, serverStreaming: true, options },
        ],
      },
    ],
  }),
  () => file_google_protobuf_wrappers,
);

function method<Kind extends DescMethod["methodKind"]>(name: string, kind: Kind) {
  const found = registry.getService("test.Probe")?.methods.find((each) => each.name === name);
  if (found?.methodKind !== kind) {
    throw new Error(`test.Probe has no ${kind} method ${name}`);
  }
  return { ...found, methodKind: kind };
}

/** One text, answered by one text. */
export const say = { ...method("Say", "unary"), input: StringValueSchema, output: StringValueSchema };
/** One text, answered by a stream of bytes. */
export const send = { ...method("Send", "server_streaming"), input: StringValueSchema, output: BytesValueSchema };
/** A stream of texts, answered by one text. */
export const join = { ...method("Join", "client_streaming"), input: StringValueSchema, output: StringValueSchema };
/** A stream of texts, answered by a stream of texts. */
export const talk = { ...method("Talk", "bidi_streaming"), input: StringValueSchema, output: StringValueSchema };
/** One text, answered by one text. The call only reads. */
export const read = { ...method("Read", "unary"), input: StringValueSchema, output: StringValueSchema };
/** One text, answered by a stream of texts. The call only reads. */
export const watch = { ...method("Watch", "server_streaming"), input: StringValueSchema, output: StringValueSchema };
