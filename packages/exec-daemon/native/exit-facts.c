/* Says how a command began and ended, in the words of `src/keeper/exit-facts.ts`. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct signal_name {
  int number;
  const char *name;
  /* ends a program; as 128 + n of bubblewrap the others are more likely a program's own exit code */
  bool ends;
};

#define SIGNAL(name, ends) {name, #name, ends}
static const struct signal_name signal_names[] = {
  SIGNAL(SIGHUP, true),     SIGNAL(SIGINT, true),   SIGNAL(SIGQUIT, true),  SIGNAL(SIGILL, true),
  SIGNAL(SIGTRAP, false),   SIGNAL(SIGABRT, true),  SIGNAL(SIGBUS, true),   SIGNAL(SIGFPE, true),
  SIGNAL(SIGKILL, true),    SIGNAL(SIGUSR1, false), SIGNAL(SIGSEGV, true),  SIGNAL(SIGUSR2, false),
  SIGNAL(SIGPIPE, true),    SIGNAL(SIGALRM, false), SIGNAL(SIGTERM, true),  SIGNAL(SIGXCPU, true),
  SIGNAL(SIGXFSZ, true),    SIGNAL(SIGSYS, true),   SIGNAL(SIGPROF, false), SIGNAL(SIGVTALRM, false),
  SIGNAL(SIGIO, false),     SIGNAL(SIGPWR, false),
#ifdef SIGSTKFLT
  SIGNAL(SIGSTKFLT, false),
#endif
};

static const struct signal_name *find_signal(int number) {
  for (size_t at = 0; at < sizeof signal_names / sizeof *signal_names; at += 1)
    if (signal_names[at].number == number) return &signal_names[at];
  return NULL;
}

static const char *yes_or_no(bool value) { return value ? "true" : "false"; }

static int signal_of(const struct exit_report *report) {
  if (WIFSIGNALED(report->status)) return WTERMSIG(report->status);
  if (!report->sandboxed) return 0;
  /* bubblewrap can't end by its command's signal, so it exits with 128 and the signal's number, as shells do. */
  int number = WEXITSTATUS(report->status) - 128;
  const struct signal_name *found = find_signal(number);
  return found != NULL && found->ends ? number : 0;
}

void format_exit(char *out, size_t size, const struct exit_report *report) {
  int number = signal_of(report);
  const struct signal_name *known = find_signal(number);
  char code[16] = "null", name[32] = "null";
  if (number == 0) snprintf(code, sizeof code, "%d", WEXITSTATUS(report->status));
  else if (known != NULL) snprintf(name, sizeof name, "\"%s\"", known->name);
  else snprintf(name, sizeof name, "\"SIG%d\"", number);
  const char *ended = number == 0 ? "exited" : "signaled";
  bool oom_killed = report->oom_killed && number == SIGKILL && !report->timed_out;
  snprintf(out, size,
           "{\"outcome\":\"known\",\"seq\":%llu,\"exit\":{\"code\":%s,\"signal\":%s,\"timedOut\":%s,"
           "\"oomKilled\":%s,\"reason\":\"%s\",\"message\":\"\",\"endedAtMs\":%lld}}",
           (unsigned long long)report->seq, code, name, yes_or_no(report->timed_out), yes_or_no(oom_killed),
           report->timed_out ? "timed-out" : ended, (long long)report->ended_at_ms);
}

static const char *error_name(int error) {
  switch (error) {
    case ENOENT: return "ENOENT";
    case EACCES: return "EACCES";
    case EPERM: return "EPERM";
    case E2BIG: return "E2BIG";
    case ENOEXEC: return "ENOEXEC";
    case ENOTDIR: return "ENOTDIR";
    case ENOMEM: return "ENOMEM";
    case EAGAIN: return "EAGAIN";
    case EMFILE: return "EMFILE";
    case EINVAL: return "EINVAL";
    case ELOOP: return "ELOOP";
    default: return NULL;
  }
}

void format_spawn_failure(char *out, size_t size, const char *program, int error, uint64_t seq) {
  char escaped[RECORD_MAX_BYTES / 4], number[32];
  escape_json(escaped, sizeof escaped, program);
  const char *name = error_name(error);
  if (name == NULL) snprintf(number, sizeof number, "error %d", error);
  snprintf(out, size,
           "{\"outcome\":\"known\",\"seq\":%llu,\"exit\":{\"code\":%d,\"signal\":null,\"timedOut\":false,"
           "\"oomKilled\":false,\"reason\":\"spawn-failed\",\"message\":\"spawn %s %s\",\"endedAtMs\":%lld}}",
           (unsigned long long)seq, error == EACCES ? 126 : 127, escaped, name == NULL ? number : name,
           (long long)wall_ms());
}

int64_t machine_oom_kills(void) {
  static char text[64 * 1024];
  int file = open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = '\0';
  char *found = strstr(text, "\noom_kill ");
  return found == NULL ? 0 : strtoll(found + strlen("\noom_kill "), NULL, 10);
}

void format_started(char *out, size_t size, const struct child *child) {
  int leader = (int)child->leader;
  snprintf(out, size, "{\"pid\":%d,\"pgid\":%d,\"startTime\":\"%s\",\"bootId\":\"%s\"}", leader, leader,
           child->identity.start_time, boot_id());
}

void format_closed(char *out, size_t size, struct spool *spool, bool left_open) {
  snprintf(out, size, "{\"seq\":%llu,\"leftOpen\":%s,\"stdoutBytes\":%llu,\"stderrBytes\":%llu}",
           (unsigned long long)spool_take_seq(spool), left_open ? "true" : "false",
           (unsigned long long)spool->offsets[STREAM_STDOUT],
           (unsigned long long)spool->offsets[STREAM_STDERR]);
}
