/*
 * The JSON files that the daemon reads. Each appears under its name whole.
 *
 * The intent is waited for on the disk before it is claimed, and it names the machine's boot. Of what follows nothing is.
 * A power cut may take the claim back after the command began; the next daemon then finds an intent of an earlier boot
 * without a claim and settles it as unknown, so a repeat doesn't run it again. The end shows first and is synced when
 * there is nothing else to do, or soon: right behind it whoever waited for it writes to the same disk. A power cut in
 * between leaves an execution without an end, so its outcome is unknown, which is the truth; its output would be lost by
 * then as well.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t read_file(const char *path, char *text, size_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t length = read(file, text, size - 1);
  close(file);
  if (length >= 0) text[length] = '\0';
  return length;
}

const char *boot_id(void) {
  static char id[64];
  if (id[0] == '\0' && read_file("/proc/sys/kernel/random/boot_id", id, sizeof id) > 0)
    id[strcspn(id, "\n")] = '\0';
  return id;
}

/* The program's name stands in brackets and may hold anything, so fields are counted from the last bracket. */
bool read_identity(pid_t pid, struct identity *identity) {
  char path[64], stat[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  identity->pid = pid;
  identity->start_time[0] = '\0';
  if (read_file(path, stat, sizeof stat) <= 0) return false;
  char *at = strrchr(stat, ')');
  /* the state is field 3 and follows the bracket; the start time is field 22 */
  for (int field = 2; at != NULL && field < 22; field += 1) at = strchr(at + 1, ' ');
  if (at == NULL) return false;
  size_t length = strspn(at + 1, "0123456789");
  if (length == 0 || length >= sizeof identity->start_time) return false;
  memcpy(identity->start_time, at + 1, length);
  identity->start_time[length] = '\0';
  return true;
}

static int write_whole(int file, const char *text) {
  for (size_t left = strlen(text); left > 0;) {
    ssize_t count = write(file, text, left);
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) {
      text += count;
      left -= (size_t)count;
    }
  }
  return 0;
}

/* A descriptor of the written copy, or a negated errno. */
static int write_copy(int folder, const char *name, const char *text) {
  /* What an earlier keeper with our pid has left isn't anybody's any more. */
  unlinkat(folder, name, 0);
  int file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return -errno;
  int error = write_whole(file, text);
  if (error == 0) return file;
  close(file);
  unlinkat(folder, name, 0);
  return -error;
}

static void name_copy(char *out, size_t size, const char *name) {
  snprintf(out, size, ".%s.%d.tmp", name, (int)getpid());
}

bool claim_execution(int folder, const char *cgroup) {
  struct identity self;
  char text[RECORD_MAX_BYTES], copy[NAME_MAX_BYTES], group[RECORD_MAX_BYTES / 2] = "";
  if (!read_identity(getpid(), &self)) return false;
  if (cgroup != NULL) escape_json(group, sizeof group, cgroup);
  snprintf(text, sizeof text, "{\"pid\":%d,\"startTime\":\"%s\",\"bootId\":\"%s\"%s%s%s}", (int)self.pid,
           self.start_time, boot_id(), cgroup == NULL ? "" : ",\"cgroup\":\"", group,
           cgroup == NULL ? "" : "\"");
  name_copy(copy, sizeof copy, "claim.json");
  int file = write_copy(folder, copy, text);
  if (file < 0) return false;
  bool is_ours = linkat(folder, copy, folder, "claim.json", 0) == 0;
  unlinkat(folder, copy, 0);
  close(file);
  if (is_ours) tell_record("claim.json", text);
  return is_ours;
}

static void *sync_one(void *descriptor) {
  return fsync(*(int *)descriptor) == 0 ? NULL : descriptor;
}

/*
 * Side by side, for they share one wait for the disk: one after the other each would take a turn of the disk and, on a
 * busy machine, one of the processor.
 */
bool sync_intent(int folder) {
  int all[] = {
    openat(folder, "start.json", O_RDONLY | O_CLOEXEC),
    folder,
    openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
  };
  pthread_t helpers[2];
  bool is_helped[2], is_synced = all[0] >= 0 && all[2] >= 0;
  for (size_t at = 0; at < 2; at += 1)
    is_helped[at] = is_synced && pthread_create(&helpers[at], NULL, sync_one, &all[at + 1]) == 0;
  if (is_synced && sync_one(&all[0]) != NULL) is_synced = false;
  for (size_t at = 0; at < 2; at += 1) {
    void *failed = is_synced && !is_helped[at] ? sync_one(&all[at + 1]) : NULL;
    if (is_helped[at]) pthread_join(helpers[at], &failed);
    if (failed != NULL) is_synced = false;
  }
  if (all[0] >= 0) close(all[0]);
  if (all[2] >= 0) close(all[2]);
  return is_synced;
}

bool is_removed(int folder) {
  struct stat facts;
  return fstat(folder, &facts) != 0 || facts.st_nlink == 0;
}

int write_record(int folder, const char *name, const char *text) {
  char copy[NAME_MAX_BYTES];
  name_copy(copy, sizeof copy, name);
  int file = write_copy(folder, copy, text);
  if (file < 0) return -file;
  close(file);
  if (renameat(folder, copy, folder, name) == 0) return 0;
  int error = errno;
  unlinkat(folder, copy, 0);
  return error;
}

static void sync_end(int folder) {
  static const char *const names[] = {"exit.json", "closed.json"};
  for (size_t at = 0; at < sizeof names / sizeof *names; at += 1) {
    int file = openat(folder, names[at], O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    fsync(file);
    close(file);
  }
  fsync(folder);
}

/* folders whose end isn't synced yet, and since when the first of them waits */
static int ends[ENDS_MAX];
static size_t end_count;
static int64_t first_end_at, end_idle_ms, end_max_ms;

void sync_ends(void) {
  for (size_t at = 0; at < end_count; at += 1) {
    sync_end(ends[at]);
    close(ends[at]);
  }
  end_count = 0;
}

void add_end(int folder, const struct order *order) {
  int copy = fcntl(folder, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    sync_end(folder);
    return;
  }
  if (end_count == 0) first_end_at = now_ms();
  ends[end_count] = copy;
  end_count += 1;
  end_idle_ms = order->end_sync_idle_ms;
  end_max_ms = order->end_sync_max_ms;
  if (end_count == ENDS_MAX) sync_ends();
}

void sync_old_ends(void) {
  if (end_count > 0 && now_ms() - first_end_at >= end_max_ms) sync_ends();
}

int ends_wait_ms(void) { return end_count == 0 ? -1 : (int)end_idle_ms; }

void escape_json(char *out, size_t size, const char *text) {
  size_t used = 0;
  for (const unsigned char *at = (const unsigned char *)text; *at != '\0' && used + 7 < size; at += 1) {
    if (*at == '"' || *at == '\\') {
      out[used++] = '\\';
      out[used++] = (char)*at;
    } else if (*at < 0x20) {
      used += (size_t)snprintf(out + used, size - used, "\\u%04x", *at);
    } else {
      out[used++] = (char)*at;
    }
  }
  out[used] = '\0';
}
