/**
 * Limits how many lines a function says itself, without the functions that are written inside it.
 *
 * A part with state is a closure here, where others write a class: counting the whole factory would
 * forbid with closures what a class may have. Each function inside is held to the same limit.
 */
const functionTypes = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

function linesOf(node) {
  return node.loc.end.line - node.loc.start.line + 1;
}

/** Lines that hold code, so that blank lines and comments cost nothing. */
function codeLines(node, sourceCode) {
  const lines = new Set();
  for (const token of sourceCode.getTokens(node)) {
    for (let line = token.loc.start.line; line <= token.loc.end.line; line += 1) lines.add(line);
  }
  return lines;
}

/** The outermost functions inside that span several lines; their lines are theirs. */
function innerFunctions(node, visitorKeys, found = []) {
  for (const key of visitorKeys[node.type] ?? []) {
    for (const child of [node[key]].flat()) {
      if (child === null || child === undefined || typeof child.type !== "string") continue;
      if (functionTypes.has(child.type) && linesOf(child) > 1) found.push(child);
      else innerFunctions(child, visitorKeys, found);
    }
  }
  return found;
}

export const ownLinesRule = {
  meta: {
    type: "suggestion",
    schema: [{ type: "object", properties: { max: { type: "integer" } }, additionalProperties: false }],
    messages: { tooLong: "This function says {{own}} lines itself, at most {{max}}: split it by concept." },
  },
  create(context) {
    const max = context.options[0].max;
    const { sourceCode } = context;
    function judge(node) {
      if (linesOf(node) <= max) return;
      const lines = codeLines(node, sourceCode);
      for (const inner of innerFunctions(node, sourceCode.visitorKeys)) {
        // The line where an inner function opens also belongs to the outer one.
        for (let line = inner.loc.start.line + 1; line <= inner.loc.end.line; line += 1) lines.delete(line);
      }
      if (lines.size > max) context.report({ node, messageId: "tooLong", data: { own: lines.size, max } });
    }
    return { FunctionDeclaration: judge, FunctionExpression: judge, ArrowFunctionExpression: judge };
  },
};
