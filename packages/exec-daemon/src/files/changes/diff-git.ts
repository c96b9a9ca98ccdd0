/** What has changed in a folder against a commit of the git repository that it belongs to; untracked files too. */
import { BoxError } from "@sand/protocol";
import { type DiffQuestion, DiffStatus } from "@sand/protocol/exec";
import { fileLimits } from "../file-limits.ts";
import type { BoxFiles } from "../file-verbs.ts";
import { asRaw, joinRaw, oddBytesOf, type RawPath, rawOfText, textOf, wirePath } from "../raw-path.ts";
import type { GitAnswer } from "../run-git.ts";
import type { Difference, DiffFileMessage } from "./diff-message.ts";
import { type GitChange, parseGitChanges } from "./git-changes.ts";
import { createPatchText, type PatchText } from "./patch-text.ts";
import { readSmallFile } from "./take-checkpoint.ts";

/** of any repository: the tree without an entry, for one that has no commit yet */
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const contextLinesMax = 1000;

export async function diffGit(files: BoxFiles, base: string, question: DiffQuestion): Promise<Difference> {
  const git = createGit(files, question.path);
  const commit = await findCommit(git, base);
  const where = ["--relative", commit, "--", ...(question.only.length === 0 ? ["."] : question.only)];
  const listed = await git(
    ["diff", "--raw", "--numstat", "-z", "-M", "--no-ext-diff", "--no-textconv", ...where],
    fileLimits.gitOutputMaxBytes,
  );
  const changes = parseGitChanges(latin1(listed));
  const untracked = await listUntracked(git, question.only);
  const patch = createPatchText();
  if (!question.namesOnly) {
    const context = Math.min(question.contextLines ?? 3, contextLinesMax);
    const shown = await git(
      ["diff", "-p", `-U${context}`, "-M", "--no-color", "--no-ext-diff", "--no-textconv", ...where],
      fileLimits.diffPatchMaxBytes + 1,
    );
    // Cut at the last file that is whole.
    patch.add(shown.truncated ? wholeFiles(shown.output) : shown.output);
    if (shown.truncated) patch.add(new Uint8Array(fileLimits.diffPatchMaxBytes + 1));
  }
  const told = changes.map(toMessage);
  for (const [index, path] of untracked.paths.entries()) {
    const isShown = !question.namesOnly && index < fileLimits.diffUntrackedMax;
    told.push(await describeUntracked(files, rawOfText(question.path), path, isShown ? patch : undefined));
  }
  const isCut = listed.truncated || untracked.truncated || told.length > fileLimits.diffFilesMax;
  const isPartly = !question.namesOnly && untracked.paths.length > fileLimits.diffUntrackedMax;
  return {
    files: told.slice(0, fileLimits.diffFilesMax),
    patch: patch.whole(),
    truncated: isCut || isPartly || patch.truncated,
  };
}

type Git = (args: readonly string[], outputMaxBytes: number) => Promise<GitAnswer>;

function createGit(files: BoxFiles, path: string): Git {
  return async (args, outputMaxBytes) => {
    const at = { path, pathBytes: new Uint8Array() };
    const answer = await files.git({ at, args, outputMaxBytes });
    if (answer.code === 0 || answer.truncated) return answer;
    const [line = ""] = answer.complaint.split("\n");
    if (/not a git repository/iu.test(line))
      throw new BoxError("file/precondition", "this folder belongs to no git repository");
    throw new BoxError("exec/unsupported", `git failed: ${line}`);
  };
}

const answerMaxBytes = 4096;

async function findCommit(git: Git, base: string): Promise<string> {
  if (base.startsWith("-") || base.length > 256 || base.includes("\0"))
    throw new BoxError("exec/invalid", "this is no name of a commit");
  await git(["rev-parse", "--git-dir"], answerMaxBytes);
  const name = base === "" ? "HEAD" : base;
  try {
    return latin1(await git(["rev-parse", "--verify", "--quiet", `${name}^{commit}`], answerMaxBytes)).trim();
  } catch (cause) {
    // A repository that was just made has no HEAD; all in it is new.
    if (base === "") return emptyTree;
    throw new BoxError("file/not-found", `git knows no commit ${JSON.stringify(base)}`, { cause });
  }
}

async function listUntracked(
  git: Git,
  only: readonly string[],
): Promise<{ readonly paths: readonly RawPath[]; readonly truncated: boolean }> {
  const args = ["ls-files", "--others", "--exclude-standard", "-z", "--", ...only];
  const answer = await git(args, fileLimits.gitOutputMaxBytes);
  const paths = latin1(answer).split("\0").slice(0, -1).map(asRaw);
  return { paths, truncated: answer.truncated };
}

async function describeUntracked(
  files: BoxFiles,
  root: RawPath,
  path: RawPath,
  patch: PatchText | undefined,
): Promise<DiffFileMessage> {
  const known = { ...wirePath(path), status: DiffStatus.ADDED, untracked: true };
  if (patch === undefined) return known;
  try {
    const after = await readSmallFile(files, joinRaw(root, path));
    const sides = { before: undefined, after, oldName: path, newName: path, contextLines: 3 };
    const { patch: text, addedLines, binary } = await files.diffTexts(sides);
    const header = Buffer.from(`diff --git a/${path} b/${path}\nnew file mode 100644\n`, "latin1");
    if (!binary) patch.add(Buffer.concat([header, text]));
    return { ...known, addedLines, binary };
  } catch (error) {
    // A link, too large, or gone by now: it is told without its content.
    if (error instanceof BoxError && error.code.startsWith("file/")) return { ...known, binary: true };
    throw error;
  }
}

function toMessage({ path, oldPath, ...change }: GitChange): DiffFileMessage {
  const old = oldPath === undefined ? {} : { oldPath: textOf(oldPath), oldPathBytes: oddBytesOf(oldPath) };
  return { ...change, ...wirePath(path), ...old };
}

function wholeFiles(output: Uint8Array): Uint8Array {
  const end = Buffer.from(output).lastIndexOf("\ndiff --git ");
  return output.subarray(0, end + 1);
}

function latin1({ output }: GitAnswer): string {
  return Buffer.from(output).toString("latin1");
}
