/*
 * Passes a command's input on from `stdin.log`, as it grows, until `stdin.end` is there. The file is what makes input
 * survive the daemon and lets a caller repeat a write; the command sees each byte once, in order.
 *
 * The folder is watched for new names and the file for growth, so that our own output doesn't wake us.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

static void watch_name(struct input *input, const char *name, uint32_t mask) {
  char path[64 + NAME_MAX_BYTES];
  snprintf(path, sizeof path, "/proc/self/fd/%d/%s", input->folder, name);
  inotify_add_watch(input->notify, path, mask);
}

void input_open(struct input *input, int folder, int target, bool is_terminal) {
  input->folder = folder;
  input->target = target;
  input->is_terminal = is_terminal;
  input->file = -1;
  input->notify = -1;
  input->offset = 0;
  input->held = input->sent = 0;
  if (target < 0) return;
  input->notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  watch_name(input, ".", IN_CREATE | IN_MOVED_TO);
}

void input_close(struct input *input) {
  if (input->file >= 0) close(input->file);
  if (input->notify >= 0) close(input->notify);
  /* A terminal's master is also its output. */
  if (input->target >= 0 && !input->is_terminal) close(input->target);
  input->file = input->notify = input->target = -1;
  input->held = input->sent = 0;
}

static void forget_notices(struct input *input) {
  char notices[4096];
  while (input->notify >= 0 && read(input->notify, notices, sizeof notices) > 0) continue;
}

static bool fill(struct input *input) {
  if (input->file < 0) {
    input->file = openat(input->folder, "stdin.log", O_RDONLY | O_CLOEXEC);
    /* The watch first and then the first look: what is written in between is in one of them. */
    if (input->file >= 0) watch_name(input, "stdin.log", IN_MODIFY);
  }
  if (input->file < 0) return false;
  ssize_t count = pread(input->file, input->piece, sizeof input->piece, (off_t)input->offset);
  if (count <= 0) return false;
  input->offset += (uint64_t)count;
  input->held = (size_t)count;
  input->sent = 0;
  return true;
}

bool input_pass(struct input *input) {
  forget_notices(input);
  while (input->target >= 0) {
    while (input->sent < input->held) {
      ssize_t count = write(input->target, input->piece + input->sent, input->held - input->sent);
      if (count >= 0) {
        input->sent += (size_t)count;
      } else if (errno == EAGAIN) {
        return true;
      } else if (errno != EINTR) {
        /* The command closed its input. What is written from now on has no reader. */
        input_close(input);
        return false;
      }
    }
    /* Looked at before reading: bytes that were written before the end mark are then all in the file. */
    bool is_end = faccessat(input->folder, "stdin.end", F_OK, 0) == 0;
    if (fill(input)) continue;
    if (is_end) input_close(input);
    return false;
  }
  return false;
}
