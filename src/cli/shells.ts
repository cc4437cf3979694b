/** The shells that the command prints completion scripts for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** The first argument with which these scripts ask the command for completions. */
export const COMPLETE = "__complete";
