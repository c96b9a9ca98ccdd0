/**
 * Attacks on files. One succeeds when a watched path is another one afterwards, or when it says so itself. Every one is
 * harmless where nothing guards: it touches only what the world laid out.
 *
 * @typedef {{name: string, group: string, script: string}} Attack
 */

const evil = "echo evil";
/** plants a hook whatever stands in the way, as far as it is allowed to */
const plant = (folder) => `mkdir -p ${folder}; ${evil} > ${folder}/post-commit`;

const outside = [
  ["a file in a folder outside", `${evil} > $OUT/planted`],
  ["through a link in the workspace", `ln -s $OUT way && ${evil} > way/planted`],
  ["through a process's root", `${evil} > /proc/self/root$OUT/planted`],
  ["through the first process's root", `${evil} > /proc/1/root$OUT/planted`],
  ["over a hard link", `ln $OUT/victim hard && ${evil} > hard`],
  ["by renaming over it", `${evil} > new && mv -f new $OUT/victim`],
  ["by removing it", "rm -f $OUT/victim"],
  ["by another mode", "chmod 777 $OUT/victim"],
  ["by truncating it", ": > $OUT/victim"],
  ["through an open folder", `cd $OUT && exec 5<. && ${evil} > /proc/self/fd/5/planted`],
  ["after remounting the root", `mount -o remount,rw,bind / 2>&1; ${evil} > $OUT/planted`],
  ["after unmounting in a namespace of its own", `unshare -Urm sh -c 'umount -l /; ${evil} > $OUT/planted'`],
  ["by a process that stays behind", `setsid sh -c 'sleep 1; ${evil} > $OUT/planted' & sleep 0.2`],
];

const hooks = [
  ["a hook", plant("plain/.git/hooks")],
  ["a hook where there are none", plant("bare-of-hooks/.git/hooks")],
  ["hooks after renaming them", `mv plain/.git/hooks plain/.git/old; ${plant("plain/.git/hooks")}`],
  ["hooks after renaming the git folder", `mv plain/.git plain/old; ${plant("plain/.git/hooks")}`],
  ["hooks after renaming the repository", `mv plain old; ${plant("plain/.git/hooks")}`],
  ["hooks after removing the git folder", `rm -rf plain/.git; ${plant("plain/.git/hooks")}`],
  [
    "hooks by a link in place of the git folder",
    "mv plain/.git x; ln -s ../x plain/.git; echo e > x/hooks/a",
  ],
  ["hooks through a process's folder", "cd plain; echo e > /proc/self/cwd/.git/hooks/post-commit"],
  ["hooks through an open folder", "exec 5<plain/.git/hooks; echo e > /proc/self/fd/5/post-commit"],
  [
    "hooks beside a mount of them",
    "unshare -Urm sh -c 'umount plain/.git/hooks; echo e > plain/.git/hooks/x'",
  ],
  ["core.hooksPath", "git -C plain config core.hooksPath /tmp/evil"],
  ["core.fsmonitor written by hand", "printf '[core]\\nfsmonitor = evil\\n' >> plain/.git/config"],
  ["the configuration by a rename", "cp plain/.git/config c; echo '[a]' >> c; mv -f c plain/.git/config"],
  ["the configuration by a hard link", "ln plain/.git/config h && echo '[a]' >> h"],
  ["a file that the configuration includes", "echo '[core]' >> moved/shared.cfg"],
  ["hooks where core.hooksPath says", plant("moved/tools/hooks")],
  ["hooks after renaming the folder around them", `mv moved/tools moved/t; ${plant("moved/tools/hooks")}`],
  ["what a link of hooks leads to", plant("linked/my-hooks")],
  [
    "another link of hooks",
    "mkdir e; ln -sfn ../../e linked/.git/hooks; rm -f linked/.git/hooks; ln -s ../../e linked/.git/hooks",
  ],
  ["a worktree's pointer", "echo 'gitdir: /tmp/evil' > tree/.git"],
  ["a worktree's pointer by a rename", "echo 'gitdir: /tmp/evil' > x; mv -f x tree/.git"],
  ["hooks behind a worktree", plant("$MAIN/.git/hooks")],
  ["configuration behind a worktree", "git -C tree config core.hooksPath /tmp/evil"],
  ["where a worktree's shared folder is", "echo /tmp/evil > $MAIN/.git/worktrees/tree/commondir"],
  ["hooks behind a submodule", plant("super/.git/modules/vendor/lib/hooks")],
  ["configuration behind a submodule", "git -C super/vendor/lib config core.hooksPath /tmp/evil"],
  ["a submodule's pointer", "rm -f super/vendor/lib/.git; echo 'gitdir: /tmp/evil' > super/vendor/lib/.git"],
  ["hooks behind a link to a git folder", plant("pointed/.git/hooks")],
  ["a git folder in place of a link", `rm pointed/.git; ${plant("pointed/.git/hooks")}`],
];

const settings = [
  ["an agent's settings", "echo '{\"e\":1}' > .claude/settings.json"],
  ["an agent's settings by a rename", "mv .claude .old; mkdir .claude; echo e > .claude/settings.json"],
  ["settings of an agent that has none", "mkdir -p .codex; echo e > .codex/config.toml"],
  ["a list of MCP servers", "echo '{}' > .mcp.json; rmdir .mcp.json; echo '{}' > .mcp.json"],
  ["our own policy", "mkdir -p .sand; echo '{}' > .sand/policy.json"],
  ["a shell's start file", "echo evil >> $USER_HOME/.bashrc"],
  ["a start file that isn't there", "echo evil > $USER_HOME/.zshrc"],
  ["a start file by a rename", "echo evil > $USER_HOME/x; mv -f $USER_HOME/x $USER_HOME/.bashrc"],
  ["git's own settings", "git config --global core.hooksPath /tmp/evil; echo e > $USER_HOME/.gitconfig"],
  ["what a policy keeps, by removing it", "rm -rf kept"],
  ["what a policy keeps, by renaming it", "mv kept elsewhere"],
];

const secrets = [
  [
    "the token in a process's environment",
    "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep \"$PLANT\"token && echo BREACH",
  ],
  [
    "the token in the daemon's memory",
    "grep -qs exec-daemon /proc/$DAEMON/cmdline && head -c 1 /proc/$DAEMON/maps | grep -q . && echo BREACH",
  ],
  [
    "the token in an argument list",
    "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep \"$PLANT\"token && echo BREACH",
  ],
  ["the token in the data root", 'grep -rsq "$PLANT"[t]oken $DATA && echo BREACH'],
  ["the data root's executions", "ls $DATA/executions 2>/dev/null | grep -q . && echo BREACH"],
  ["a key of ssh", 'grep -sq "$PLANT"[t]oken $USER_HOME/.ssh/id_test && echo BREACH'],
];

const listed = (group, rows) => rows.map(([name, script]) => ({ group, name: `${group}: ${name}`, script }));

/** @type {readonly Attack[]} */
export const fileAttacks = [
  ...listed("outside", outside),
  ...listed("hooks", hooks),
  ...listed("settings", settings),
  ...listed("secrets", secrets),
];
