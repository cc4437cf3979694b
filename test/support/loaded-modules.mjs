// Loaded before a program, this module writes the URLs of all modules that the program imports to the file LOADED_FILE,
// one a line.
import { register } from "node:module";

const hooks = `
import { appendFileSync } from "node:fs";
export const load = (url, context, next) => { appendFileSync(process.env.LOADED_FILE, url + "\\n"); return next(url, context); };
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
