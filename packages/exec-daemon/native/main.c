/*
 * The shim's program. It is started ahead of time, answers `ready`, takes one order after the other, and says in one
 * word on a line what became of each: `taken`, `closed`, or `leaving` when something still writes and this process
 * stays with it. Before that it says each record that it has put into the folder: the file's name and what is in it.
 * When the daemon goes away it finishes what it has and ends. The folder is the truth; what is said only saves the
 * daemon from looking.
 *
 * `sand-shim probe [control group]` says what this machine lets it do, which also proves that it runs here.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void say(const char *word) {
  char line[32];
  int length = snprintf(line, sizeof line, "%s\n", word);
  /* The daemon may be gone when we tell it something. That is no reason to leave an execution. */
  ssize_t ignored = write(1, line, (size_t)length);
  (void)ignored;
}

/* All the records of an execution fit into what the daemon may leave unread, so this never waits for it. */
void tell_record(const char *name, const char *text) {
  struct iovec parts[] = {
    {(void *)name, strlen(name)}, {(void *)" ", 1}, {(void *)text, strlen(text)}, {(void *)"\n", 1}};
  ssize_t ignored = writev(1, parts, sizeof parts / sizeof *parts);
  (void)ignored;
}

/* Takes orders until there are no more; the program's exit code. */
static int serve(int signals) {
  static struct order order;
  for (;;) {
    sync_old_ends();
    say("ready");
    switch (read_order(&order, signals)) {
      case ORDER_NONE: return 0;
      case ORDER_BROKEN: return 2;
      case ORDER_READ: break;
    }
    if (!keep_execution(&order, signals, say)) return 0;
  }
}

static int probe(const char *cgroup) {
  bool has_seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
  char text[64];
  int length = snprintf(text, sizeof text, "{\"version\":1,\"seccomp\":%s,\"cgroup\":%s}\n",
                        has_seccomp ? "true" : "false", cgroup != NULL && cgroup_works(cgroup) ? "true" : "false");
  return write(1, text, (size_t)length) == length ? 0 : 1;
}

/* Told to end by any of these, in the middle of anything: they are read, never delivered. */
static int watch_signals(void) {
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  sigaddset(&watched, SIGTERM);
  sigaddset(&watched, SIGINT);
  sigaddset(&watched, SIGHUP);
  if (sigprocmask(SIG_SETMASK, &watched, NULL) != 0) return -1;
  signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
}

bool told_to_end(int signals, bool *child_changed) {
  struct signalfd_siginfo info;
  bool is_told = false;
  while (read(signals, &info, sizeof info) == (ssize_t)sizeof info) {
    if (info.ssi_signo != SIGCHLD) is_told = true;
    else if (child_changed != NULL) *child_changed = true;
  }
  return is_told;
}

int main(int argc, char **argv) {
  if (argc >= 2 && strcmp(argv[1], "probe") == 0) return probe(argc > 2 ? argv[2] : NULL);
  /* Nothing that whoever started us had open is ours, and nobody's end is our end. */
  syscall(SYS_close_range, 3U, ~0U, 0U);
  prctl(PR_SET_PDEATHSIG, 0);
  int signals = watch_signals();
  if (signals < 0) return 1;
  int code = serve(signals);
  sync_ends();
  return code;
}
