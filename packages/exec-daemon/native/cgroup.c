/*
 * A control group for one execution, so that "all of it" includes what left the command's session and group. Version
 * 2 only: there a process is started inside of its group, which is free; in version 1 it would have to be moved, which
 * takes the kernel up to tens of milliseconds.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* what forks faster than it is killed is given up after so many rounds; the kernel's own way has no such race */
enum { KILL_ROUNDS_MAX = 16 };

int cgroup_make(const char *path) {
  if (path == NULL) return -1;
  if (mkdir(path, 0755) != 0 && errno != EEXIST) return -1;
  return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

pid_t cgroup_fork(int group, bool *is_inside) {
  if (group >= 0) {
    struct clone_args args = {
      .flags = CLONE_INTO_CGROUP,
      .exit_signal = SIGCHLD,
      .cgroup = (unsigned)group,
    };
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid >= 0) {
      *is_inside = true;
      return pid;
    }
  }
  return fork();
}

static int open_in(const char *path, const char *name, int flags) {
  char file[4096];
  int length = snprintf(file, sizeof file, "%s/%s", path, name);
  if (length < 0 || (size_t)length >= sizeof file) return -1;
  return open(file, flags | O_CLOEXEC);
}

static ssize_t read_in(const char *path, const char *name, char *text, size_t size) {
  int file = open_in(path, name, O_RDONLY);
  if (file < 0) return -1;
  ssize_t length = read(file, text, size - 1);
  close(file);
  if (length >= 0) text[length] = '\0';
  return length;
}

void cgroup_kill(const char *path) {
  if (path == NULL) return;
  int file = open_in(path, "cgroup.kill", O_WRONLY);
  if (file >= 0) {
    ssize_t wrote = write(file, "1", 1);
    close(file);
    if (wrote == 1) return;
  }
  for (int round = 0; round < KILL_ROUNDS_MAX; round += 1) {
    char pids[8192];
    if (read_in(path, "cgroup.procs", pids, sizeof pids) <= 0) return;
    for (char *at = pids; *at != '\0';) {
      char *end;
      long pid = strtol(at, &end, 10);
      if (end == at) break;
      /* 0 is one of another namespace, and as an argument it would be our own group. */
      if (pid > 0) kill((pid_t)pid, SIGKILL);
      at = end;
    }
  }
}

int64_t cgroup_oom_kills(const char *path) {
  char text[1024];
  if (path == NULL || read_in(path, "memory.events", text, sizeof text) <= 0) return -1;
  char *found = strstr(text, "oom_kill ");
  return found == NULL ? -1 : strtoll(found + strlen("oom_kill "), NULL, 10);
}

void cgroup_remove(const char *path) {
  if (path != NULL) rmdir(path);
}

bool cgroup_works(const char *path) {
  int group = cgroup_make(path);
  if (group < 0) return false;
  bool is_inside = false;
  pid_t pid = cgroup_fork(group, &is_inside);
  if (pid == 0) _exit(0);
  if (pid > 0) waitpid(pid, NULL, 0);
  close(group);
  cgroup_remove(path);
  return is_inside;
}
