/*
 * Reads an order: the magic word, the length of what follows, and then pairs of a key and a value, each ended by a zero
 * byte. A key that may occur several times adds to a list. A key that isn't known is refused: it would be a wish, for
 * a limit or another account for instance, that is silently not kept.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char magic[8] = {'S', 'N', 'D', 'O', 'R', 'D', '0', '1'};

/* the body of the order being kept; its strings are used in place */
static char *body;
static size_t body_size;

struct number_key {
  const char *name;
  size_t at;
};

#define NUMBER(key, field) {key, offsetof(struct order, field)}
static const struct number_key number_keys[] = {
  NUMBER("stdin", with_stdin),
  NUMBER("sandboxed", sandboxed),
  NUMBER("killMs", kill_ms),
  NUMBER("uid", uid),
  NUMBER("gid", gid),
  NUMBER("ttyUid", tty_uid),
  NUMBER("noNewPrivs", no_new_privs),
  NUMBER("cols", cols),
  NUMBER("rows", rows),
  NUMBER("segmentMaxBytes", segment_max_bytes),
  NUMBER("tailSegmentsMax", tail_segments_max),
  NUMBER("killGraceMs", kill_grace_ms),
  NUMBER("settleMaxMs", settle_max_ms),
  NUMBER("drainMaxMs", drain_max_ms),
  NUMBER("recordRetryEveryMs", record_retry_every_ms),
  NUMBER("recordRetryMaxMs", record_retry_max_ms),
  NUMBER("leftOpenMaxMs", left_open_max_ms),
  NUMBER("infoMaxMs", info_max_ms),
  NUMBER("pinMaxMs", pin_max_ms),
  NUMBER("folderLookEveryMs", folder_look_every_ms),
  NUMBER("endSyncIdleMs", end_sync_idle_ms),
  NUMBER("endSyncMaxMs", end_sync_max_ms),
};

static const struct {
  const char *name;
  int resource;
} resources[] = {
  {"core", RLIMIT_CORE},   {"cpu", RLIMIT_CPU},       {"fsize", RLIMIT_FSIZE}, {"nofile", RLIMIT_NOFILE},
  {"nproc", RLIMIT_NPROC}, {"data", RLIMIT_DATA},     {"as", RLIMIT_AS},       {"stack", RLIMIT_STACK},
  {"memlock", RLIMIT_MEMLOCK},
};

static bool read_number(const char *text, int64_t *value) {
  char *end;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0) return false;
  *value = number;
  return true;
}

/* `nofile=1024`: both the soft and the hard limit. */
static bool add_rlimit(struct order *order, char *value) {
  char *equals = strchr(value, '=');
  int64_t number;
  if (equals == NULL || order->rlimit_count == RLIMITS_MAX || !read_number(equals + 1, &number)) return false;
  *equals = '\0';
  for (size_t at = 0; at < sizeof resources / sizeof *resources; at += 1) {
    if (strcmp(resources[at].name, value) != 0) continue;
    order->rlimits[order->rlimit_count] = (struct resource_limit){resources[at].resource, (uint64_t)number};
    order->rlimit_count += 1;
    return true;
  }
  return false;
}

static bool add(char **list, size_t *count, size_t max, char *value) {
  if (*count == max) return false;
  list[*count] = value;
  *count += 1;
  return true;
}

static bool set_field(struct order *order, const char *key, char *value) {
  if (strcmp(key, "arg") == 0) return add(order->argv, &order->argc, ARGS_MAX, value);
  if (strcmp(key, "env") == 0) return add(order->env, &order->envc, ENV_MAX, value);
  if (strcmp(key, "openFile") == 0)
    return add(order->open_files, &order->open_file_count, OPEN_FILES_MAX, value);
  if (strcmp(key, "saveFile") == 0) {
    order->save_file_at = order->open_file_count + 1;
    return add(order->open_files, &order->open_file_count, OPEN_FILES_MAX, value);
  }
  if (strcmp(key, "rlimit") == 0) return add_rlimit(order, value);
  char **text = strcmp(key, "folder") == 0    ? &order->folder
                : strcmp(key, "cwd") == 0     ? &order->cwd
                : strcmp(key, "cgroup") == 0  ? &order->cgroup
                : strcmp(key, "seccomp") == 0 ? &order->seccomp
                                              : NULL;
  if (text != NULL) {
    *text = value;
    return true;
  }
  for (size_t at = 0; at < sizeof number_keys / sizeof *number_keys; at += 1) {
    if (strcmp(number_keys[at].name, key) == 0)
      return read_number(value, (int64_t *)((char *)order + number_keys[at].at));
  }
  return false;
}

static bool parse_order(struct order *order, size_t length) {
  /* The lists are large and end by their own counts. */
  memset(order, 0, offsetof(struct order, argv));
  order->uid = order->gid = order->tty_uid = -1;
  for (char *at = body, *end = body + length; at < end;) {
    char *value = memchr(at, '\0', (size_t)(end - at));
    if (value == NULL) return false;
    value += 1;
    char *next = memchr(value, '\0', (size_t)(end - value));
    if (next == NULL || !set_field(order, at, value)) return false;
    at = next + 1;
  }
  order->argv[order->argc] = NULL;
  order->env[order->envc] = NULL;
  return order->folder != NULL && order->cwd != NULL && order->segment_max_bytes > 0;
}

/* False at the end of the orders, or when we are told to end. */
static bool read_whole(void *target, size_t length, int signals) {
  for (size_t have = 0; have < length;) {
    struct pollfd waits[2] = {{.fd = 0, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    int ready = poll(waits, 2, ends_wait_ms());
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) {
      if (ready == 0) sync_ends();
      continue;
    }
    if (waits[1].revents != 0 && told_to_end(signals, NULL)) return false;
    if (waits[0].revents == 0) continue;
    ssize_t count = read(0, (char *)target + have, length - have);
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) return false;
    if (count > 0) have += (size_t)count;
  }
  return true;
}

enum order_result read_order(struct order *order, int signals) {
  unsigned char header[12];
  if (!read_whole(header, sizeof header, signals)) return ORDER_NONE;
  if (memcmp(header, magic, sizeof magic) != 0) return ORDER_BROKEN;
  size_t length = (size_t)header[8] << 24 | (size_t)header[9] << 16 | (size_t)header[10] << 8 | header[11];
  if (length > ORDER_MAX_BYTES) return ORDER_BROKEN;
  if (length > body_size) {
    free(body);
    body = malloc(length);
    body_size = body == NULL ? 0 : length;
    if (body == NULL) return ORDER_BROKEN;
  }
  if (!read_whole(body, length, signals)) return ORDER_NONE;
  return parse_order(order, length) ? ORDER_READ : ORDER_BROKEN;
}

bool wants_terminal(const struct order *order) { return order->cols > 0 && order->rows > 0; }
