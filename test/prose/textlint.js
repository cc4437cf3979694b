import { fileURLToPath } from "node:url";

export const plugins = { [fileURLToPath(new URL("sources.mjs", import.meta.url))]: true };
export const rules = { prh: { rulePaths: ["words.yml"] }, "sentence-length": { max: 260 } };
