// Gives the files to pack the modes that git records. npm packs the modes that it finds, and a umask such as 077 narrows them.
import { chmod, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

const { files } = JSON.parse(await readFile("package.json", "utf8"));
const named = files.filter((path) => !path.startsWith("!"));
const below = named.map(async (path) => {
  if ((await stat(path)).isFile()) {
    return [path];
  }
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
});
for (const path of ["package.json", "README.md", "LICENSE", ...(await Promise.all(below)).flat()]) {
  const mode = (await stat(path)).mode & 0o777;
  const recorded = (mode & 0o100) === 0 ? 0o644 : 0o755;
  if (mode !== recorded) {
    await chmod(path, recorded);
  }
}
