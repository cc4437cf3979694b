/** The shells that can be taught to complete. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** The first argument with which the shells ask the command for what may stand next. */
export const COMPLETE = "__complete";
