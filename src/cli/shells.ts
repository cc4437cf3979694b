/** The shells that the command prints completion scripts for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** The first argument of these scripts' requests for completions. */
export const COMPLETE = "__complete";
