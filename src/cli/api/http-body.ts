import { type DescMethod, isMessage, type Message } from "@bufbuild/protobuf";
import { HttpBodySchema } from "../../../gen/google/api/httpbody_pb.js";
import { quotedPath } from "../../errors/file-error.js";
import { RequestError } from "../../errors/index.js";
import { saveWhole } from "../../file/save-whole.js";
import { withoutErrorObject } from "../../json/error-tail.js";
import { mediaTypeOf, requireKnownEnd } from "../../json/http-body.js";
import { isHttpBody } from "../../json/message.js";
import { methodName } from "../../transport/method-name.js";
import { STANDARD } from "../input.js";
import { type CommandContext, json, size, writeOut } from "../output.js";
import type { CallOptions } from "./call-options.js";

/**
 * Check the options about bytes.
 *
 * @param method the method that is called
 * @param options the values of the command-line options
 * @throws {@link RequestError} if `--out` is given for a method that answers with something else than bytes, or with
 *   options that do not go with it
 */
export function checkOutput(method: DescMethod, { out, force, all, limit }: CallOptions): void {
  if (out === undefined ? force === true : all === true || limit !== undefined) {
    throw new RequestError("--force goes with --out, and --all and --limit do not", {
      advice: "Give --out for bytes, and --all or --limit for records.",
    });
  }
  if (out !== undefined && !isHttpBody(method.output)) {
    throw new RequestError(`${methodName(method)} answers with ${method.output.typeName}, not with bytes`, {
      advice: "Leave --out out: the answer goes to standard output as JSON.",
    });
  }
}

/**
 * Check that a cut in the bytes of an answer can be seen. Streams of gRPC and of JSON have an end of their own.
 *
 * @param header the header of the answer
 * @throws {@link ProtocolError} if the bytes end with their connection
 */
export function checkEnd(header: Headers): void {
  const mediaType = mediaTypeOf(header);
  if (mediaType !== "" && !/^application\/(grpc|json|x-ndjson|ndjson)\b/.test(mediaType)) {
    requireKnownEnd(header);
  }
}

/**
 * Write the bytes of `google.api.HttpBody` messages to a file, whole or not at all, or to standard output as they come.
 *
 * @param messages the messages
 * @param options where the bytes go, whether a file is replaced, how the result is told, and the transport. Over a
 *   gateway, an error object may stand behind the bytes
 * @param context the streams of the command, and the signal that interrupts it
 * @throws {@link NodeError} if a gateway wrote an error object behind the bytes
 * @throws {@link FileError} if the file cannot be written, or exists
 */
export async function writeBody(
  messages: AsyncIterable<Message>,
  options: CallOptions & { readonly out: string; readonly transport: string },
  context: CommandContext,
): Promise<void> {
  const { out, force = false, transport } = options;
  const bytes = transport === "rest" || transport === "auto" ? withoutErrorObject(dataOf(messages)) : dataOf(messages);
  if (out === STANDARD) {
    for await (const piece of bytes) {
      await writeOut(context, piece);
    }
    return;
  }
  const { found, ...saved } = await saveWhole(
    bytes,
    { target: out, fileName: () => noName(out), force },
    { passing: drain, written: () => undefined },
  );
  if (options.json === true) {
    context.out.write(json(saved));
  } else {
    context.out.write(`${saved.path}\n`);
    context.notes.write(`${size(saved.bytes)}, SHA-256 ${saved.sha256}\n`);
  }
}

async function* dataOf(messages: AsyncIterable<Message>): AsyncGenerator<Uint8Array> {
  for await (const message of messages) {
    if (isMessage(message, HttpBodySchema)) {
      yield message.data;
    }
  }
}

async function drain(bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of bytes) {
    // Only written.
  }
}

function noName(path: string): never {
  throw new RequestError(`${quotedPath(path)} is a folder`, { advice: "Give the path of a file." });
}
