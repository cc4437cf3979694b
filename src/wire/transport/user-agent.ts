/** The version of this package. */
const VERSION = "0.1.0";

/** The value of `user-agent` in requests. */
export const USER_AGENT = `tradewire/${VERSION}`;
