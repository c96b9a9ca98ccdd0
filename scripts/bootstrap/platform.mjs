/** Says early and plainly when this machine can't do it, and what it lacks where it can. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { Failure, say } from "./failure.mjs";

/** Debian's packages that the sandbox needs, by the program that each brings */
const systemPackages = [{ program: "bwrap", debian: "bubblewrap" }];

export function checkPlatform() {
  const major = Number(process.versions.node.split(".")[0]);
  if (major < 18) {
    throw new Failure(
      `Node ${process.versions.node} is too old to start from`,
      "install Node 18 or newer, then run this again",
    );
  }
  if (process.platform === "win32") {
    throw new Failure("Windows isn't supported", "use WSL 2 with Debian or Ubuntu, and run this inside it");
  }
  if (process.platform !== "linux" && process.platform !== "darwin") {
    throw new Failure(`${process.platform} isn't supported`, "use Linux (x64 or arm64, glibc) or macOS");
  }
  if (!["x64", "arm64"].includes(process.arch)) {
    throw new Failure(`${process.arch} isn't supported`, "use a machine with x64 or arm64");
  }
  if (process.platform === "linux" && usesMusl()) {
    throw new Failure(
      "this Linux uses musl, and the pinned Node needs glibc",
      "use Debian, Ubuntu, Fedora or another Linux with glibc",
    );
  }
  if (process.platform === "darwin") say("macOS is best effort: commands run without the Linux sandbox");
}

function usesMusl() {
  const header = process.report?.getReport().header;
  return header !== undefined && header.glibcVersionRuntime === undefined;
}

/** As root on Debian the missing ones are installed; else they are named, and the work goes on without. */
export function installSystemPackages() {
  if (process.platform !== "linux") return;
  const missing = systemPackages.filter(({ program }) => !onPath(program)).map(({ debian }) => debian);
  if (missing.length === 0) return;
  const names = missing.join(" ");
  if (process.getuid() !== 0 || !existsSync("/usr/bin/apt-get")) {
    say(
      `not installed here: ${names}. Commands of agents run without a sandbox until it is (as root: apt-get install ${names})`,
    );
    return;
  }
  say(`installing the system packages ${names}, because commands of agents are sandboxed with them`);
  if (apt(["install", ...missing]) || (apt(["update"]) && apt(["install", ...missing]))) return;
  say(`apt-get could not install ${names}; going on without a sandbox`);
}

function apt(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const ran = spawnSync("apt-get", ["-qq", "-y", "--no-install-recommends", ...args], {
    env,
    stdio: ["ignore", "ignore", "ignore"],
  });
  return ran.status === 0;
}

function onPath(program) {
  return (process.env.PATH || "").split(":").some((folder) => existsSync(`${folder}/${program}`));
}

/** @returns {string} a line that tells two kinds of machine apart, for the stamp of an installation */
export function platformName() {
  const libc =
    process.platform === "linux" && existsSync("/etc/os-release")
      ? /^ID=(.*)$/m.exec(readFileSync("/etc/os-release", "utf8"))
      : null;
  return [process.platform, process.arch, libc ? libc[1] : ""].join("-");
}
