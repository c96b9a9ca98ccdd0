/** Translates what the file system reports into our codes. */
import { BoxError, type ErrorCode } from "@sand/protocol";

const codeByErrno: Readonly<Record<string, ErrorCode>> = {
  ENOENT: "file/not-found",
  ENOTDIR: "file/not-a-directory",
  EISDIR: "file/not-a-file",
  ENXIO: "file/not-a-file",
  EEXIST: "file/exists",
  ENOTEMPTY: "file/not-empty",
  EINVAL: "exec/invalid",
  ELOOP: "file/denied",
  EACCES: "file/denied",
  EPERM: "file/denied",
  EROFS: "file/denied",
  EBUSY: "file/denied",
  ENAMETOOLONG: "exec/invalid",
  ENOSPC: "file/no-space",
  EDQUOT: "file/no-space",
  EFBIG: "file/no-space",
};

const wordsByCode: Readonly<Partial<Record<ErrorCode, string>>> = {
  "file/not-found": "there is nothing at this path",
  "file/not-a-directory": "a part of the path is no folder",
  "file/not-a-file": "this is no file",
  "file/exists": "something is there already",
  "file/not-empty": "the folder isn't empty",
  "file/denied": "the file system refuses it",
  "file/no-space": "there is no space left",
};

export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}

export function toFileError(error: unknown): BoxError {
  if (error instanceof BoxError) return error;
  const errno = errnoOf(error) ?? "";
  const code = codeByErrno[errno] ?? "file/io";
  const words = wordsByCode[code] ?? "the file operation failed";
  return new BoxError(code, errno === "" ? words : `${words} (${errno})`, { cause: error });
}
