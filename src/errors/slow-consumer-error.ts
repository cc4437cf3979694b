import { Code } from "@connectrpc/connect";
import { TradewireError } from "./tradewire-error.js";

/** A stream ended because what it gave was taken too slowly: a node drops those who do not keep up. */
export class SlowConsumerError extends TradewireError {
  /**
   * @param of the stream, such as `the stream of events`, and words for what is missing of it
   * @param cause how it ended
   */
  constructor(of: { readonly stream: string; missing(): string }, cause: TradewireError) {
    super(`${of.stream} ended, as it was read too slowly: ${cause.summary}; ${of.missing()}`, {
      code: Code.ResourceExhausted,
      advice: "Do less while reading, or leave it to something that works beside it; or ask for less.",
      cause,
      section: "slowconsumererror",
    });
  }
}
