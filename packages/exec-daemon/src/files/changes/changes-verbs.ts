/** The service `Changes`: differences, checkpoints, hashes and patches, over the file operations and one store. */
import { createHash } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { BoxError } from "@sand/protocol";
import type { Changes, DiffAnswerSchema, DiffQuestion } from "@sand/protocol/exec";
import { fileLimits } from "../file-limits.ts";
import type { BoxFiles } from "../file-verbs.ts";
import { rawOfAsked } from "../raw-path.ts";
import { withinTreeTime } from "../tree-time.ts";
import type { CheckpointStore } from "./checkpoint-store.ts";
import { diffCheckpoint } from "./diff-checkpoint.ts";
import { diffGit } from "./diff-git.ts";
import { hashOfContent, readTree, takeCheckpoint, toMessage } from "./take-checkpoint.ts";

export interface ChangesDeps {
  readonly files: BoxFiles;
  readonly store: CheckpointStore;
}

export function createChangesVerbs(deps: ChangesDeps): ServiceImpl<typeof Changes> {
  const { files, store } = deps;
  return {
    async diff({ questions }, { signal }) {
      if (questions.length > fileLimits.diffQuestionsMax)
        throw new BoxError("exec/invalid", `at most ${fileLimits.diffQuestionsMax} questions at once`);
      const answers: MessageInitShape<typeof DiffAnswerSchema>[] = [];
      for (const question of questions) answers.push(await answer(deps, question, signal));
      return { answers };
    },
    createCheckpoint: async (request, { signal }) => ({
      checkpoint: await withinTreeTime(signal, (within) => takeCheckpoint(deps, request, within)),
    }),
    listCheckpoints: async () => ({ checkpoints: (await store.list()).map(toMessage) }),
    removeCheckpoint: async ({ id }) => ({ existed: await store.alone(() => store.remove(id)) }),
    hash: (request, { signal }) => withinTreeTime(signal, (within) => hashTree(files, request, within)),
    applyPatch: async (request) => ({
      files: [
        ...(
          await files.applyPatch({
            at: { path: request.path, pathBytes: new Uint8Array() },
            patch: request.patch,
            strip: request.strip,
            reverse: request.reverse,
            checkOnly: request.checkOnly,
          })
        ).files,
      ],
    }),
  };
}

/** A question that has no answer says why, and the others have theirs. */
async function answer(
  deps: ChangesDeps,
  question: DiffQuestion,
  signal: AbortSignal,
): Promise<MessageInitShape<typeof DiffAnswerSchema>> {
  try {
    for (const only of question.only) rawOfAsked({ path: only, pathBytes: new Uint8Array() });
    const { base } = question;
    return base.case === "checkpointId"
      ? await withinTreeTime(signal, (within) => diffCheckpoint(deps, base.value, question, within))
      : await diffGit(deps.files, base.value ?? "", question);
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
    return { errorCode: error.code, errorMessage: error.message };
  }
}

async function hashTree(
  files: BoxFiles,
  request: { readonly path: string; readonly ignore: readonly string[]; readonly content: boolean },
  signal: AbortSignal,
): Promise<{ hash: string; entries: number }> {
  let entries = 0;
  const hash = createHash("sha256");
  for await (const entry of readTree(files, request, { digests: request.content, signal })) {
    entries += 1;
    if (request.content) hash.update(hashOfContent([{ ...entry, size: entry.sizeBytes }]));
    else hash.update(`${entry.type} ${entry.mode} ${entry.version} ${entry.path}\0`, "latin1");
  }
  return { hash: hash.digest("hex"), entries };
}
