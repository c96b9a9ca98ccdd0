/**
 * Takes the questions to a terminal out of output that is shown a second time: where the cursor is, what kind of
 * terminal it is, which colours it has. Ours would answer them, and the answer would be typed into the program. Pure.
 */
const esc = "\u001b";
// Status and cursor reports, device attributes, mode and window reports, the version, colours, and settings.
const questions = new RegExp(
  [
    `${esc}\\[[?>=]?[0-9;]*[cn]`,
    `${esc}\\[\\??[0-9;]*\\$p`,
    `${esc}\\[(?:1[1-9]|2[01])t`,
    `${esc}\\[>[0-9]*q`,
    `${esc}\\](?:4;[0-9]+|1[0-9]|52;[a-z]*);\\?(?:\u0007|${esc}\\\\)`,
    `${esc}P\\$q[^${esc}]*${esc}\\\\`,
    `${esc}Z`,
  ].join("|"),
  "gu",
);

/** One byte is one character, so that nothing else is changed. */
export function stripQuestions(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString("latin1").replace(questions, ""), "latin1");
}
