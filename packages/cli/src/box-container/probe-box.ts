/** Whether the box can be a container here: an engine that answers, and our image in it. */
import type { RunDocker } from "./run-docker.ts";

export type BoxProbe =
  | { readonly kind: "ready"; readonly engine: string }
  | { readonly kind: "no-engine"; readonly reason: string }
  | { readonly kind: "no-image"; readonly engine: string };

export async function probeBox(docker: RunDocker, image: string): Promise<BoxProbe> {
  const version = await docker(["version", "--format", "{{.Server.Version}}"]);
  if (!version.ok || version.stdout === "") {
    return { kind: "no-engine", reason: version.complaint.split("\n").at(-1) ?? "docker doesn't answer" };
  }
  const found = await docker(["image", "inspect", "--format", "{{.Id}}", image]);
  return found.ok ? { kind: "ready", engine: version.stdout } : { kind: "no-image", engine: version.stdout };
}

export function describeBox(probe: BoxProbe, image: string): string {
  switch (probe.kind) {
    case "ready":
      return `Docker ${probe.engine} answers and has ${image}`;
    case "no-engine":
      return `no Docker engine answers (${probe.reason})`;
    case "no-image":
      return `Docker ${probe.engine} answers, but has no image ${image} (\`sand image build\` makes it)`;
  }
}
