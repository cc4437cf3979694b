/** The version of this package. */
const VERSION = "0.1.0";

/** The name that requests give themselves in `user-agent`. */
export const USER_AGENT = `tradewire/${VERSION}`;
