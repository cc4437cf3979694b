/** Joins the files of a folder again and again until it is killed. Argument: the folder. */
import { compactParquet } from "tradewire/sync";

const [folder = ""] = process.argv.slice(2);
process.stdout.write("open\n");
for (let rowsPerFile = 1000; ; rowsPerFile += 500) {
  await compactParquet(`${folder}/out`, { rowsPerFile });
  process.stdout.write("joined\n");
}
