import { createTransformerFactory, type TwoslashRenderer, type TwoslashShikiFunction } from "@shikijs/twoslash/core";
import ts from "typescript";
import { readTypedExamples, type TypedExample } from "../test/docs/typed-examples.js";

type Factory = ReturnType<typeof createTransformerFactory>;
type Hovers = ReturnType<TwoslashShikiFunction>;

/** Types are attributes, which the theme shows: as elements they would be half of a long page, which phones load slowly. */
const renderer: TwoslashRenderer = {
  nodeStaticInfo: ({ text }, node) => ({
    type: "element",
    tagName: "span",
    properties: { class: "twoslash-hover", "data-type": text },
    children: [node],
  }),
};

/** What an editor shows of each name of an example. */
function hoversOf({ code, module, offset }: TypedExample, service: ts.LanguageService): Hovers {
  const nodes: Hovers["nodes"] = [];
  const visit = (node: ts.Node): void => {
    const start = node.getStart() - offset;
    if (ts.isIdentifier(node) && start >= 0 && start < code.length) {
      const info = service.getQuickInfoAtPosition(module, node.getStart());
      const text = ts.displayPartsToString(info?.displayParts);
      if (text !== "") {
        const lines = code.slice(0, start).split("\n");
        const character = lines.at(-1)?.length ?? 0;
        const target = node.text;
        nodes.push({ type: "hover", text, target, start, length: target.length, line: lines.length - 1, character });
      }
    }
    node.forEachChild(visit);
  };
  service.getProgram()?.getSourceFile(module)?.forEachChild(visit);
  return { code, nodes };
}

/**
 * Creates the part of the highlighter that shows types in the examples of docs/ and of doc comments.
 *
 * @throws Error if an example does not compile
 */
export async function createTypesTransformer(root: string): Promise<ReturnType<Factory>> {
  const { examples, service, compile } = await readTypedExamples(root);
  const messages = compile();
  if (messages !== "") {
    throw new Error(`examples do not compile:\n${messages}`);
  }
  const known = new Map(examples.map((example) => [example.code.trim(), example]));
  const twoslasher: TwoslashShikiFunction = (code) => {
    const example = known.get(code.trim());
    return example === undefined ? { code, nodes: [] } : hoversOf(example, service);
  };
  return createTransformerFactory(
    twoslasher,
    renderer,
  )({ filter: (lang, code) => ["ts", "js"].includes(lang) && known.has(code.trim()) });
}
