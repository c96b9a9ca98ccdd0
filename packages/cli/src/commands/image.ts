/** `sand image build`: makes the image that `sand up` looks for, with the script of the source tree. */
import type { Command, CommandContext, CommandInput } from "../command.ts";
import { CommandFailure } from "../command-failure.ts";
import type { ExitName } from "../exit-codes.ts";
import { type BuiltImage, findImageScript, runImageBuild } from "./image-build.ts";

export const imageCommand: Command = {
  name: "image",
  summary: "build the image of the box",
  usage: "image build [options]",
  details: [
    "Needs a Docker engine and Sand's source tree. The base is Debian with Node: from a registry,",
    "or made by debootstrap (as root) where none can be reached. It is kept and used again; the",
    "first build takes a few minutes.",
  ].join("\n"),
  options: {
    tag: { type: "string", value: "<name>", about: "the image's name (SAND_IMAGE, else sand-box:local)" },
    base: { type: "string", value: "<image>", about: "build on this image instead of the open base" },
    debootstrap: { type: "boolean", about: "make the base here and ask no registry" },
    fresh: { type: "boolean", about: "build the programs again first" },
  },
  examples: ["sand image build", "sand image build --debootstrap && sand up"],
  words: [1, 1],
  run: image,
};

async function image(context: CommandContext, input: CommandInput): Promise<ExitName> {
  if (input.words[0] !== "build")
    throw new CommandFailure("usage", `usage: sand ${imageCommand.usage}`, { hint: "see sand image --help" });
  const { config, terminal, programPath } = context;
  const built = await runImageBuild({
    script: findImageScript(programPath),
    args: chooseArguments(input, config.image),
    environment: config.childEnvironment,
    onProgress: (line) => terminal.note(line),
  });
  terminal.result(built);
  terminal.line(`${built.image} is ready (${shortId(built)}, over ${built.base}). Start it: sand up`);
  return "ok";
}

function chooseArguments(input: CommandInput, imageName: string): readonly string[] {
  const base = input.text("base");
  const flags = ["debootstrap", "fresh"].filter((name) => input.flag(name)).map((name) => `--${name}`);
  return [
    ...["--tag", input.text("tag") ?? imageName],
    ...(base === undefined ? [] : ["--base", base]),
    ...flags,
  ];
}

const shortIdChars = 12;

function shortId({ id }: BuiltImage): string {
  return id.replace(/^sha256:/u, "").slice(0, shortIdChars);
}
