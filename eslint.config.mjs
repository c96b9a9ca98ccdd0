// ESLint runs only the rules that need types, the size limits, and the ban on module patching.
// Biome owns format and every rule that needs no types, so that one finding has one reporter.
import tseslint from "typescript-eslint";
import { ownLinesRule } from "./scripts/checks/own-lines-rule.mjs";

const sand = { rules: { "own-lines": ownLinesRule } };

const sizeLimits = {
  complexity: ["error", 15],
  "max-params": ["error", 4],
  "sand/own-lines": ["error", { max: 60 }],
  // A factory with all its functions; beyond this it is more than one concept.
  "max-lines-per-function": ["error", { max: 160, skipBlankLines: true, skipComments: true }],
};

const patchedModules = {
  selector: "CallExpression[callee.object.name='vi'][callee.property.name=/^(mock|doMock|hoisted|spyOn)$/]",
  message: "Effects are parameters: pass a fake instead of patching a module.",
};

export default tseslint.config(
  {
    ignores: [
      "**/dist/**",
      "**/node_modules/**",
      "**/src/gen/**",
      "**/fixtures/**",
      ".toolchain/**",
      ".tmp/**",
    ],
  },
  {
    files: ["packages/*/src/**/*.ts", "packages/*/test/**/*.ts"],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    plugins: { "@typescript-eslint": tseslint.plugin, sand },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/await-thenable": "error",
      "@typescript-eslint/return-await": ["error", "error-handling-correctness-only"],
      "@typescript-eslint/only-throw-error": "error",
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        // A default arm would hide a new member of the union from every reader of the switch.
        { allowDefaultCaseForExhaustiveSwitch: false, requireDefaultForNonUnion: false },
      ],
      "no-restricted-syntax": ["error", patchedModules],
      ...sizeLimits,
    },
  },
  {
    files: ["scripts/**/*.mjs", "test/**/*.{ts,mjs}"],
    languageOptions: { parser: tseslint.parser },
    plugins: { sand },
    rules: { "no-restricted-syntax": ["error", patchedModules], ...sizeLimits },
  },
  {
    // A describe block is one function that holds many tests; its length says nothing.
    files: ["**/*.test.{ts,mjs}"],
    plugins: { sand },
    rules: { "max-lines-per-function": "off", "sand/own-lines": "off" },
  },
);
