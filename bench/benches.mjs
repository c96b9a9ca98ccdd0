/** The table of benches: what `pnpm bench <name>` runs, and what the page says about it. */
import { benchAccept } from "./accept.mjs";
import { benchBlobs } from "./blobs.mjs";
import { benchBoxStore } from "./box-store.mjs";
import { benchDaemon } from "./daemon.mjs";
import { benchExec } from "./exec.mjs";
import { benchFanOut } from "./fan-out.mjs";
import { benchFiles } from "./files.mjs";
import { benchGroupCommit } from "./group-commit.mjs";
import { benchGrowth } from "./growth.mjs";
import { benchGrowthMillion } from "./growth-million.mjs";
import { benchLoopDelay } from "./loop-delay.mjs";
import { benchPeer } from "./peer.mjs";
import { benchPtyEcho } from "./pty-echo.mjs";
import { benchReplay } from "./replay.mjs";
import { benchRest } from "./rest.mjs";
import { benchSandbox } from "./sandbox.mjs";
import { benchSearch } from "./search.mjs";
import { benchSlowClient } from "./slow-client.mjs";
import { benchStart } from "./start.mjs";

export const benches = {
  accept: {
    about: [
      "Accepting prompts durably, on one agent whose turn waits for its model. One connection waits for one commit,",
      "that of the agent's store; the index follows for many at once. The base line has one fdatasync.",
      "How long `/health` takes beside the load stands for the delay of the event loop, seen from outside.",
    ].join(" "),
    run: benchAccept,
  },
  "loop-delay": {
    about: [
      "How late the event loop runs what is due while 64 connections post prompts; by the monitor of Node inside the",
      "process. ADR 0023 says what follows from it.",
    ].join(" "),
    run: benchLoopDelay,
  },
  "group-commit": {
    about: [
      "Prompts that wait at the same time share a commit. A ratio below 1× at one connection is the price of an HTTP",
      "request and of some dozen pages beside one page; above it, what sharing gives.",
    ].join(" "),
    run: benchGroupCommit,
  },
  blobs: {
    about: [
      "Large payloads of 128 KiB: durable under their SHA-256 and checked when read, on both sides. Ours crosses to a",
      "thread and back, which is the price of an event loop that never waits for a large write.",
    ].join(" "),
    run: benchBlobs,
  },
  "box-store": {
    about: [
      "What accepting prompts costs while one snapshot after another is taken. 64 connections over four agents change",
      "nearly every page between two snapshots, so each brings all of it: more than any real load asks for.",
    ].join(" "),
    run: benchBoxStore,
  },
  start: {
    about: [
      "From the spawn to the first answer of `/health`. By a processor profile, reading and compiling the one large",
      "bundle is the greatest part, then its modules' own start; opening the state and the gateway is the least.",
    ].join(" "),
    run: benchStart,
  },
  replay: {
    about: [
      "Turns replayed from disk. An event is one stored record of a turn: read, parsed, checked, decided again and compared;",
      "each request is built and hashed anew, with six turns of twenty steps before it.",
    ].join(" "),
    run: benchReplay,
  },
  rest: { about: "Resident memory a few seconds after the start, with one agent.", run: benchRest },
  "fan-out": { about: "Events of one agent to 1,000 streams.", run: benchFanOut },
  daemon: {
    about: [
      "The exec-daemon's budgets for commands. Ping is asked by a client of its own; the flood and",
      "the 100 commands are each read. A session ends when nothing of it runs any more: here four processes that ignore TERM.",
    ].join(" "),
    run: benchDaemon,
  },
  exec: {
    about: [
      "A command through the daemon: it is recorded durably before it starts, and outlives the daemon. The base line",
      "keeps nothing. The spool holds 8 MiB, so of a flood a reader gets what it can and is told what it missed: `taken`",
      "is how fast the command may write, `delivered` what came to the reader. Beside that stand the floors: a bare spawn",
      "with the syncs of a durable intent, and plain HTTP between two processes, which has neither a file nor messages.",
    ].join(" "),
    run: benchExec,
  },
  "pty-echo": {
    about: [
      "One key typed into `cat` in a terminal, and its echo. A terminal with nothing around it needs some hundredths of a",
      "millisecond, less than any socket takes: a bare socket before one alone takes two to five times that. So the",
      "second pair of lines stands beside a bare socket before one, and that is what can be met.",
    ].join(" "),
    run: benchPtyEcho,
  },
  growth: {
    about: [
      "What a step costs with much history behind it: an instantly answering model, `true` in the shell. The window of",
      "the request is full and the same in both.",
    ].join(" "),
    run: benchGrowth,
  },
  "growth-million": {
    about: [
      "The same with 1,000,000 entries, and acceptances, pages, the first page after a start and memory beside it: two hosts",
      "with one agent each, asked by turns. A page here is four large entries.",
    ].join(" "),
    run: benchGrowthMillion,
  },
  files: {
    about: [
      "The exec-daemon's budgets for files. Ping is asked by a client of its own while the work goes on; memory is that",
      "of the daemon and its file process together.",
    ].join(" "),
    run: benchFiles,
  },
  sandbox: {
    about: [
      "An enclosed run of `true` beside bubblewrap told to do the same mounts, and beside one with the four mounts that",
      "any sandbox has. Ours is planned with each run and has the filter; a mount costs some 0.2 ms, and a repository",
      "has about a dozen of them on top.",
    ].join(" "),
    run: benchSandbox,
  },
  peer: {
    about: [
      "Beside `opencode-ai` from npm (`opencode serve`), against the same scripted model; the time between calls",
      "includes the model's own. A step of ours is durable: two commits of the host, the",
      "intent and the claim in the box, and the record of the end, which nobody waits for.",
    ].join(" "),
    run: benchPeer,
  },
  search: {
    about: [
      "Words over 1,000,000 messages of 20 agents, through the gateway; the newest 50 hits of each. The index is made by a",
      "thread of the host that rests after each piece of work, so making it takes longer than its processor time.",
    ].join(" "),
    run: benchSearch,
  },
  "slow-client": {
    about: "1 GB of events past a client that never reads, beside the same without it; three pairs of runs.",
    run: benchSlowClient,
  },
};
