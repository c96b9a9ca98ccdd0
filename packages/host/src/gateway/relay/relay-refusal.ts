/**
 * What the relay itself refuses, told in both tongues: the gateway's two fields, and those by which a client of the
 * daemon knows an error. So a client needn't know which of the two said no.
 */
import { BoxError, errorCodes } from "@sand/protocol";
import { toErrorAnswer } from "../error-answer.ts";

export interface RelayRefusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: string;
}

export function describeRefusal(error: unknown): RelayRefusal {
  const { status, code, body } = toErrorAnswer(error);
  const hint = error instanceof BoxError && error.hint !== undefined ? { hint: error.hint } : {};
  const text = JSON.stringify({ ...body, code: errorCodes[code].connect, message: body.error, ...hint });
  return {
    status,
    headers: {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
      "x-sand-code": code,
    },
    body: text,
  };
}
