/*
 * Starts the command: in a session and group of its own, in its control group, as its account, within its limits.
 *
 * The child tells over a pipe that closes by itself at the exec why it couldn't start. What privileges the daemon has
 * are dropped before anything is looked at that a request has named, except the folder of the command, which is entered
 * by the account that it runs as.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { INFO_FD = 3, FIRST_OPEN_FILE_FD = 4, SAFE_FD = 64, SECCOMP_MAX_BYTES = 4096 * 8 };

/* the command's ends of everything, before they get their numbers */
struct ends {
  int in, out, err, info, status;
  int files[OPEN_FILES_MAX];
};

static void close_fd(int fd) {
  if (fd >= 0) close(fd);
}

static void close_ends(const struct ends *ends) {
  int all[] = {ends->in, ends->out, ends->out == ends->err ? -1 : ends->err, ends->info, ends->status};
  for (size_t at = 0; at < sizeof all / sizeof *all; at += 1) close_fd(all[at]);
  for (size_t at = 0; at < OPEN_FILES_MAX; at += 1) close_fd(ends->files[at]);
}

/* The command's end may be opened again by its path, also by another account: scripts write to `/dev/stdout`. */
static bool open_pipe(int *ours, int *theirs, bool ours_reads) {
  int both[2];
  if (pipe2(both, O_CLOEXEC) != 0) return false;
  *ours = both[ours_reads ? 0 : 1];
  *theirs = both[ours_reads ? 1 : 0];
  fchmod(*theirs, 0666);
  fcntl(*ours, F_SETFL, O_NONBLOCK);
  return true;
}

static bool open_terminal(const struct order *order, struct child *child, struct ends *ends) {
  child->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (child->master < 0 || grantpt(child->master) != 0 || unlockpt(child->master) != 0) return false;
  char name[64];
  if (ptsname_r(child->master, name, sizeof name) != 0) return false;
  ends->in = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (ends->in < 0) return false;
  /* Whoever uses the terminal may open it by its name, where we can arrange that. */
  if (order->tty_uid >= 0 && fchown(ends->in, (uid_t)order->tty_uid, (gid_t)-1) != 0) errno = 0;
  ends->out = ends->err = -1;
  struct winsize size = {.ws_col = (unsigned short)order->cols, .ws_row = (unsigned short)order->rows};
  ioctl(child->master, TIOCSWINSZ, &size);
  fcntl(child->master, F_SETFL, O_NONBLOCK);
  child->out = child->in = child->master;
  return true;
}

static bool open_streams(const struct order *order, struct child *child, struct ends *ends, int *info) {
  if (wants_terminal(order)) {
    if (!open_terminal(order, child, ends)) return false;
  } else {
    if (!open_pipe(&child->out, &ends->out, true) || !open_pipe(&child->err, &ends->err, true)) return false;
    if (order->with_stdin != 0 ? !open_pipe(&child->in, &ends->in, false)
                               : (ends->in = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
      return false;
  }
  /* A terminal's sandbox keeps the session that we made, so its program is the leader itself. */
  bool asks_info = order->sandboxed != 0 && !wants_terminal(order);
  if (asks_info && !open_pipe(info, &ends->info, true)) return false;
  for (size_t at = 0; at < order->open_file_count; at += 1) {
    int mode = at + 1 == order->save_file_at ? O_WRONLY | O_APPEND : O_RDONLY;
    ends->files[at] = open(order->open_files[at], mode | O_CLOEXEC);
    if (ends->files[at] < 0) return false;
  }
  return true;
}

/* Moves a descriptor out of the way of those that get a fixed number. */
static int lift(int fd) { return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, SAFE_FD); }

static bool place(int fd, int number) { return fd < 0 || dup2(fd, number) == number; }

static bool place_ends(const struct order *order, struct ends *ends) {
  ends->in = lift(ends->in);
  ends->out = lift(ends->out);
  ends->err = lift(ends->err);
  ends->info = lift(ends->info);
  ends->status = lift(ends->status);
  for (size_t at = 0; at < OPEN_FILES_MAX; at += 1) ends->files[at] = lift(ends->files[at]);
  if (wants_terminal(order)) {
    if (ioctl(ends->in, TIOCSCTTY, 0) != 0) return false;
    ends->out = ends->err = ends->in;
  }
  if (!place(ends->in, 0) || !place(ends->out, 1) || !place(ends->err, 2)) return false;
  if (!place(ends->info, INFO_FD)) return false;
  for (size_t at = 0; at < order->open_file_count; at += 1)
    if (!place(ends->files[at], FIRST_OPEN_FILE_FD + (int)at)) return false;
  return ends->status >= 0;
}

static bool set_limits(const struct order *order) {
  for (size_t at = 0; at < order->rlimit_count; at += 1) {
    struct rlimit limit = {order->rlimits[at].value, order->rlimits[at].value};
    if (setrlimit(order->rlimits[at].resource, &limit) != 0) return false;
  }
  return true;
}

/* Becomes another account and keeps nothing of ours: no group, no capability, no way to gain one. */
static bool become(const struct order *order) {
  if (order->uid >= 0) {
    gid_t gid = (gid_t)(order->gid >= 0 ? order->gid : order->uid);
    uid_t uid = (uid_t)order->uid;
    if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0) return false;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return false;
    if (setresuid(uid, uid, uid) != 0) return false;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    if (syscall(SYS_capset, &header, none) != 0) return false;
  }
  bool is_needed = order->uid >= 0 || order->no_new_privs != 0 || order->seccomp != NULL;
  return !is_needed || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* Last of all: it may forbid what the steps before need. The file was opened before the account changed. */
static bool enforce_seccomp(int file) {
  static char program[SECCOMP_MAX_BYTES];
  if (file < 0) return true;
  ssize_t length = read(file, program, sizeof program);
  close(file);
  size_t size = sizeof(struct sock_filter);
  if (length <= 0 || (size_t)length % size != 0) {
    if (length >= 0) errno = EINVAL;
    return false;
  }
  struct sock_fprog filter = {
    .len = (unsigned short)((size_t)length / size),
    .filter = (struct sock_filter *)program,
  };
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

static void forget_signals(void) {
  for (int number = 1; number < NSIG; number += 1) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static void run_child(const struct order *order, struct ends *ends) {
  extern char **environ;
  setsid();
  forget_signals();
  int seccomp = order->seccomp == NULL ? -1 : lift(open(order->seccomp, O_RDONLY | O_CLOEXEC));
  bool is_ready = (order->seccomp == NULL || seccomp >= 0) && place_ends(order, ends) && set_limits(order) &&
                  become(order) && chdir(order->cwd) == 0 && enforce_seccomp(seccomp);
  if (is_ready) {
    environ = (char **)order->env;
    execvp(order->argv[0], order->argv);
  }
  int error = errno;
  ssize_t ignored = write(ends->status, &error, sizeof error);
  (void)ignored;
  _exit(127);
}

/*
 * bubblewrap tells the namespace's first process in a few bytes of JSON; 0 when it ended without. All of it is read: it
 * writes in pieces, and would be killed by a pipe that closes before its last one.
 */
static pid_t read_inner_pid(int info, int64_t longest_ms) {
  static char text[INFO_MAX_BYTES];
  size_t have = 0;
  for (int64_t until = now_ms() + longest_ms; have + 1 < sizeof text;) {
    struct pollfd wait = {.fd = info, .events = POLLIN};
    if (poll(&wait, 1, wait_until_ms(until, now_ms(), -1)) == 0) break;
    ssize_t count = read(info, text + have, sizeof text - 1 - have);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) break;
    have += (size_t)count;
  }
  text[have] = '\0';
  char *found = strstr(text, "\"child-pid\":");
  return found == NULL ? 0 : (pid_t)strtol(found + strlen("\"child-pid\":"), NULL, 10);
}

static bool fail(struct child *child, int error) {
  close_fd(child->out);
  if (child->in != child->out) close_fd(child->in);
  close_fd(child->err);
  child->out = child->in = child->err = child->master = -1;
  child->failure = error == 0 ? EINVAL : error;
  return false;
}

bool launch_command(const struct order *order, struct child *child) {
  struct ends ends = {.in = -1, .out = -1, .err = -1, .info = -1, .status = -1};
  int info = -1, status[2], error = 0;
  *child = (struct child){.out = -1, .err = -1, .in = -1, .master = -1};
  for (size_t at = 0; at < OPEN_FILES_MAX; at += 1) ends.files[at] = -1;
  if (order->argc == 0) return fail(child, ENOENT);
  if (!open_streams(order, child, &ends, &info) || pipe2(status, O_CLOEXEC) != 0) {
    error = errno;
    close_ends(&ends);
    close_fd(info);
    return fail(child, error);
  }
  ends.status = status[1];
  int cgroup = cgroup_make(order->cgroup);
  child->pid = cgroup_fork(cgroup, &child->in_cgroup);
  if (child->pid == 0) run_child(order, &ends);
  int fork_error = errno;
  close_fd(cgroup);
  close_ends(&ends);
  bool has_failed = child->pid < 0;
  if (has_failed) error = fork_error;
  else has_failed = read(status[0], &error, sizeof error) == (ssize_t)sizeof error;
  close(status[0]);
  if (has_failed) {
    if (child->pid > 0) waitpid(child->pid, NULL, 0);
    close_fd(info);
    return fail(child, error);
  }
  pid_t inner = info < 0 ? 0 : read_inner_pid(info, order->info_max_ms);
  close_fd(info);
  child->leader = inner > 0 ? inner : child->pid;
  read_identity(child->leader, &child->identity);
  return true;
}
