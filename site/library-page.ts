import { dirname } from "node:path";
import { firstParagraph, withFacts } from "./page.js";

/** The parts of a description that are no headings, so that the outline and the search have the exports' own names. */
const PARTS =
  "Parameters|Type Parameters|Returns|Throws|Examples?|Extends|Extended by|Implements|Implementation of|See|Default Value|Call Signature|Get Signature|Set Signature|Union Members|Type Literal|Type Declaration";
const PART = new RegExp(`^#{2,6} (${PARTS})$`, "gm");
const LIST = /^\*\*(Extends|Extended by|Implements)\*\*\n\n((?:- .*\n)+)/gm;
const PROVENANCE = /^#{2,6} (?:Inherited from|Overrides)\n\n(?:.*\n)\n?(?=\n|$)/gm;
const THROWS = /(?:^#{2,6} Throws\n\n(?:(?!#{2,6} |\*\*\*).*\n)*)+/gm;

/** One list of what is thrown, in the place of one section for each. */
function listThrows(sections: string): string {
  const items = sections
    .split(/^#{2,6} Throws\n/m)
    .map((item) => item.trim().replaceAll(/\s*\n\s*/g, " "))
    .filter((item) => item !== "");
  return `**Throws**\n\n${items.map((item) => `- ${item}`).join("\n")}\n\n`;
}

/**
 * Turns what TypeDoc writes about an export into a page of the site.
 *
 * @param name the page's path among those of the library
 * @param text TypeDoc's Markdown
 * @returns Markdown for the site
 */
export function libraryPage(name: string, text: string): string {
  const title = /^# ([^<&\n]*)/m.exec(text)?.[1]?.replaceAll("\\", "") ?? name;
  const isEntry = /^(?:Library|tradewire)/.test(title);
  const content = text
    .replaceAll(PROVENANCE, "")
    .replaceAll(/^Defined in: \[src\/[^\]]*\]\(([^)]*)\)\n/gm, "[Source]($1)\n")
    .replaceAll(THROWS, listThrows)
    .replaceAll(PART, "**$1**")
    .replaceAll(
      LIST,
      (_, part, list: string) => `**${part}** ${list.replaceAll(/^- /gm, "").trim().split("\n").join(", ")}\n`,
    )
    .replaceAll(/^\*\*\*\n\n/gm, "");
  const prose = content.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/^\[Source\].*$/gm, "");
  const described = firstParagraph(prose) || `${title} of tradewire.`;
  const shown = isEntry ? content : content.replace(/^# .*\n/, `# ${title}\n\n\`${dirname(name)}\`\n`);
  return withFacts({ title, description: described }, shown);
}
