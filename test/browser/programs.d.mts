export const entries: readonly string[];
export function createInput(): Promise<object>;
export function bundleProgram(name: string): Promise<string>;
export function runHere(name: string, input: object): Promise<unknown>;
