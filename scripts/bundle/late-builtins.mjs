/**
 * Parts of Node that libraries of ours ask for while they are loaded and hardly ever use: HTTP/2 and TLS, some megabytes
 * each. In a bundle each is an object that fetches the real one when something of it is read.
 */
import * as http2 from "node:http2";
import * as https from "node:https";

const late = { http2: Object.keys(http2), https: Object.keys(https) };

export function lateBuiltins() {
  return {
    name: "late-builtins",
    setup(build) {
      build.onResolve({ filter: /^(?:node:)?https?2?$/ }, ({ path, namespace }) => {
        const name = path.replace("node:", "");
        if (namespace === "late" || late[name] === undefined) return undefined;
        return { path: name, namespace: "late" };
      });
      build.onLoad({ filter: /.*/, namespace: "late" }, ({ path }) => {
        const keys = late[path].filter((key) => key !== "default" && key !== "module.exports");
        const parts = keys.map((key) => `get ${key}() { return real().${key}; }`);
        const real = `const real = () => require("node:${path}");`;
        return { contents: `${real}\nmodule.exports = { ${parts.join(", ")} };`, loader: "js" };
      });
    },
  };
}
