// A plugin of textlint that reads the prose of TypeScript sources: comments, help texts and error messages.
import { parse } from "@textlint/text-to-ast";
import ts from "typescript";

const COMMENT = /^[ \t]*(?:\/\*\*[\s\S]*?\*\/|\/\/ .*)/gm;
/** Code within a comment: examples, code in backquotes, links and the names of tags and parameters. */
const CODE = /@example[\s\S]*?(?=\n +\* @|\*\/)|`[^`\n]*`|\{@link [^}]*\}|@param \S+|@\w+/g;
/** What begins each line of a comment. */
const MARGIN = /^[ \t]*(?:\/\*\*|\*\/?|\/\/)/gm;

const blank = (text) => text.replaceAll(/[^\n]/g, " ");

/** Text of several words that is neither code nor a path, such as an error message. */
function* literals(node, source) {
  if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
    if (node.text.includes(" ")) {
      yield { start: node.getStart(source), text: node.getText(source) };
    }
    return;
  }
  const children = [];
  ts.forEachChild(node, (child) => void children.push(child));
  for (const child of children) {
    yield* literals(child, source);
  }
}

/** Replaces everything but prose with spaces, so that lines and columns stay the same. */
function proseOf(text) {
  const source = ts.createSourceFile("source.ts", text, ts.ScriptTarget.Latest);
  const comments = [...text.matchAll(COMMENT)].map(({ index, 0: comment }) => ({
    start: index,
    text: comment.replaceAll(CODE, blank).replaceAll(MARGIN, blank).replace("*/", "  "),
  }));
  const prose = blank(text).split("");
  for (const part of [...comments, ...literals(source, source)]) {
    prose.splice(part.start, part.text.length, ...part.text);
  }
  return prose.join("");
}

/** Parses prose into a document with a text node for each line. */
function documentOf(text) {
  const { loc, range } = parse(text);
  let start = 0;
  const children = text.split("\n").flatMap((line, index) => {
    const value = line.trim();
    const column = line.indexOf(value);
    const from = start + column;
    start += line.length + 1;
    const at = (end) => ({ line: index + 1, column: end });
    return value === ""
      ? []
      : [
          {
            type: "Str",
            raw: value,
            value,
            range: [from, from + value.length],
            loc: { start: at(column), end: at(column + value.length) },
          },
        ];
  });
  return { type: "Document", raw: text, range, loc, children };
}

export default {
  Processor: class {
    availableExtensions() {
      return [".ts"];
    }
    processor() {
      return {
        preProcess(text) {
          const prose = proseOf(text);
          return { text: prose, ast: documentOf(prose) };
        },
        postProcess: (messages, filePath) => ({ messages, filePath }),
      };
    }
  },
};
