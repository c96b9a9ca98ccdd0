/**
 * Gathers the licence texts of what went into a bundle, because most of those licences ask that
 * their text goes where the code goes. The order is fixed, so the file is reproducible too.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const packageFolder = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//;

/** @param {string} root @param {{inputs: Record<string, unknown>}} metafile */
export async function licenceTexts(root, metafile) {
  const folders = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const match = packageFolder.exec(input);
    if (match) folders.add(match[1]);
  }
  const parts = [];
  for (const folder of folders) parts.push(await describe(join(root, folder)));
  parts.sort((a, b) => (a.name < b.name ? -1 : 1));
  return `${parts.map((part) => part.text).join("\n\n")}\n`;
}

async function describe(folder) {
  const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice)/i.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  const title = `${name} ${version} (${license})`;
  return { name: `${name}@${version}`, text: [title, ...texts.map((text) => text.trim())].join("\n\n") };
}
