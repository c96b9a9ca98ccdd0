/** The completion scripts as their shells take them. bash is run for real; what it offers is what `compgen` gave. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestHome } from "./run-sand.ts";

/** What bash offers for each of the lines, whose last word is the one being typed. */
async function offered(lines: readonly (readonly string[])[]): Promise<readonly string[][]> {
  using home = createTestHome();
  const { stdout } = await home.run(["completion", "bash"]);
  const script = join(home.folder, "sand.bash");
  writeFileSync(script, stdout);
  writeFileSync(join(home.folder, "a-file"), "");
  const asks = lines.map(
    (words) =>
      `COMP_WORDS=(sand ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _sand; echo "\${COMPREPLY[*]}"`,
  );
  const ran = spawnSync(
    "bash",
    ["--norc", "-euc", [`source ${script}`, "complete -p sand >/dev/null", ...asks].join("\n")],
    {
      cwd: home.folder,
      encoding: "utf8",
      timeout: 20_000,
    },
  );
  expect(ran.stderr).toBe("");
  return ran.stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split(" "));
}

test("bash completes commands, actions, options and their values, and leaves the rest to files", async () => {
  const [commands, named, actions, second, options, values, afterValue, leading, file, short] = await offered(
    [
      ["e"],
      ["help", "tr"],
      ["agents", "un"],
      ["agents", "show", "un"],
      ["send", "main", "--w"],
      ["send", "--when-busy", "st"],
      ["agents", "--title", "list", "un"],
      ["--data-root", "up", "--json", "comp"],
      ["exec", "--cwd", "a-"],
      ["logs", "-"],
    ],
  );
  expect({ commands, named, actions, second, options, values, afterValue, leading, file, short }).toEqual({
    commands: ["events", "exec", "export"],
    named: ["transcript"],
    actions: ["unread", "unhide"],
    second: [""],
    options: ["--wait", "--when-busy"],
    values: ["steer"],
    afterValue: ["unread", "unhide"],
    leading: ["completion"],
    file: ["a-file"],
    short: ["--lines", "-n", "--follow", "-f", "--json", "--data-root", "--help", "-h"],
  });
});

test("every shell gets every command, and a shell that nobody has heard of is status 2", async () => {
  using home = createTestHome();
  const overview = await home.run(["--help"]);
  const names = [...overview.stdout.matchAll(/^ {2}(\w+) {2,}\w/gmu)].map((match) => match[1] ?? "");
  expect(names.length).toBeGreaterThan(12);
  for (const shell of ["bash", "zsh", "fish"]) {
    const { stdout } = await home.run(["completion", shell]);
    const missing = names.filter(
      (name) => !/^\d+$/u.test(name) && !new RegExp(`\\b${name}\\b`, "u").test(stdout),
    );
    expect({ shell, missing }).toEqual({ shell, missing: [] });
  }
  expect((await home.run(["completion", "csh"])).code).toBe(2);
}, 120_000);
