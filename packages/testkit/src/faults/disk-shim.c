/*
 * Stands between a process and libc's file calls, for tests of durability. It is preloaded into one process and
 * concerns itself with the files below one folder (DISK_SHIM_ROOT) only.
 *
 * 1. It records each change of a file or a folder, each sync, and what is sent over sockets, in one order over all
 *    threads (DISK_SHIM_LOG). A call and its record are made under one lock, so the order is the order of effects.
 * 2. It makes chosen calls fail, as a full or broken disk would (DISK_SHIM_CONTROL, a page shared with the test).
 * 3. With DISK_SHIM_NO_SYNC a sync does nothing and says that it did.
 *
 * A record: kind (1 byte), then inode, place, time in ms, length (8 bytes each, little endian), then `length` bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OP_OPEN = 1, OP_WRITE = 2, OP_TRUNCATE = 4, OP_SYNC = 8, OP_RENAME = 16, OP_UNLINK = 32, OP_MKDIR = 64 };
enum { SENT_MAX = 65536 };

/* Written by the test, but for the two counters. */
struct control {
  volatile uint32_t ops;   /* which calls may fail, a sum of OP_* */
  volatile int32_t error;  /* the errno they fail with */
  volatile uint32_t skip;  /* so many of them go well first */
  volatile uint32_t times; /* so many of them fail then */
  volatile uint32_t half;  /* the first write that fails has written its first half */
  volatile uint32_t seen;  /* counter: calls of the chosen kinds */
  volatile uint32_t failed;/* counter: calls that failed */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct control *control;
static const char *root;
static size_t root_length;
static int log_fd = -1;
static int no_sync;

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

__attribute__((constructor)) static void start(void) {
  root = getenv("DISK_SHIM_ROOT");
  root_length = root ? strlen(root) : 0;
  const char *log = getenv("DISK_SHIM_LOG"), *page = getenv("DISK_SHIM_CONTROL");
  no_sync = getenv("DISK_SHIM_NO_SYNC") != NULL;
  if (log) {
    int fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    log_fd = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 900);
    syscall(SYS_close, fd);
  }
  if (page) {
    int fd = syscall(SYS_openat, AT_FDCWD, page, O_RDWR | O_CLOEXEC);
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    control = at == MAP_FAILED ? NULL : at;
    if (fd >= 0) syscall(SYS_close, fd);
  }
  /* Whoever is started by this process is not under test. */
  unsetenv("LD_PRELOAD");
}

static int is_below(const char *path) {
  return root && strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || path[root_length] == 0);
}

/* Shared memory of SQLite is made anew at each start, so it is no state. */
static int is_state(const char *path) {
  size_t length = strlen(path);
  return is_below(path) && !(length > 4 && strcmp(path + length - 4, "-shm") == 0);
}

/* 1 a file or folder below the root, 2 a socket, 3 neither. Asked each time: descriptors are used again. */
static int kind_of(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 3;
  path[length] = 0;
  return is_state(path) ? 1 : strncmp(path, "socket:", 7) == 0 ? 2 : 3;
}

/* How a path looks as a whole; our programs name files below the root by whole paths, or beside a folder's. */
static int whole(int folder, const char *path, char *out) {
  if (path[0] == '/') {
    snprintf(out, PATH_MAX, "%s", path);
    return 1;
  }
  char link[64], base[PATH_MAX / 2];
  if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
  else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  ssize_t length = readlink(link, base, sizeof base - 1);
  if (length < 0) return 0;
  base[length] = 0;
  snprintf(out, PATH_MAX, "%s/%s", base, path);
  return 1;
}

static void put(const void *bytes, size_t length) {
  const char *at = bytes;
  while (length > 0) {
    ssize_t done = syscall(SYS_write, log_fd, at, length);
    if (done <= 0) return;
    at += done;
    length -= done;
  }
}

static void note(char kind, uint64_t inode, uint64_t place, const void *bytes, uint64_t length) {
  if (log_fd < 0) return;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t time = (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
  char head[33];
  head[0] = kind;
  memcpy(head + 1, &inode, 8);
  memcpy(head + 9, &place, 8);
  memcpy(head + 17, &time, 8);
  memcpy(head + 25, &length, 8);
  put(head, sizeof head);
  put(bytes, length);
}

static void note_path(char kind, uint64_t inode, const char *path) { note(kind, inode, 0, path, strlen(path)); }

static uint64_t inode_of(int fd) {
  struct stat about;
  return fstat(fd, &about) == 0 ? about.st_ino : 0;
}

/* Whether this call fails. Under the lock. */
static int fails(uint32_t op) {
  if (!control || !(control->ops & op)) return 0;
  uint32_t at = control->seen;
  control->seen = at + 1;
  if (at < control->skip || at - control->skip >= control->times) return 0;
  control->failed += 1;
  errno = control->error;
  return 1;
}

#define UNDER_LOCK(type, action) \
  pthread_mutex_lock(&lock);     \
  type result = action;          \
  int kept = errno;              \
  pthread_mutex_unlock(&lock);   \
  errno = kept;                  \
  return result

typedef ssize_t (*put_at)(int, const void *, size_t, off_t);

static ssize_t do_pwrite(int fd, const void *bytes, size_t length, off_t place, int moves) {
  ssize_t (*write_real)(int, const void *, size_t) = real("write");
  put_at pwrite_real = real("pwrite64");
  if (fails(OP_WRITE)) {
    if (!control->half || length < 2) return -1;
    control->half = 0;
    length /= 2;
  }
  if (moves) {
    int flags = fcntl(fd, F_GETFL);
    struct stat about;
    place = (flags & O_APPEND) && fstat(fd, &about) == 0 ? about.st_size : lseek(fd, 0, SEEK_CUR);
  }
  ssize_t done = moves ? write_real(fd, bytes, length) : pwrite_real(fd, bytes, length, place);
  if (done > 0) note('W', inode_of(fd), place, bytes, done);
  return done;
}

static ssize_t do_pwritev(int fd, const struct iovec *parts, int count, off_t place, int moves) {
  ssize_t sum = 0;
  for (int at = 0; at < count; at += 1) {
    if (parts[at].iov_len == 0) continue;
    ssize_t done = do_pwrite(fd, parts[at].iov_base, parts[at].iov_len, place + sum, moves);
    if (done < 0) return sum > 0 ? sum : -1;
    sum += done;
    if ((size_t)done < parts[at].iov_len) break;
  }
  return sum;
}

static void note_sent(const struct iovec *parts, int count, ssize_t sent) {
  char bytes[SENT_MAX];
  size_t length = 0;
  for (int at = 0; at < count && length < (size_t)sent && length < SENT_MAX; at += 1) {
    size_t take = parts[at].iov_len;
    if (take > (size_t)sent - length) take = sent - length;
    if (take > SENT_MAX - length) take = SENT_MAX - length;
    memcpy(bytes + length, parts[at].iov_base, take);
    length += take;
  }
  note('N', 0, 0, bytes, length);
}

/* What is sent is noted before it leaves: afterwards a client could act on it before the note is made. */
ssize_t write(int fd, const void *bytes, size_t length) {
  ssize_t (*next)(int, const void *, size_t) = REAL(write);
  int kind = kind_of(fd);
  if (kind == 3) return next(fd, bytes, length);
  if (kind == 1) { UNDER_LOCK(ssize_t, do_pwrite(fd, bytes, length, 0, 1)); }
  struct iovec part = {(void *)bytes, length};
  pthread_mutex_lock(&lock);
  note_sent(&part, 1, length);
  pthread_mutex_unlock(&lock);
  return next(fd, bytes, length);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  ssize_t (*next)(int, const struct iovec *, int) = REAL(writev);
  int kind = kind_of(fd);
  if (kind == 3) return next(fd, parts, count);
  if (kind == 1) { UNDER_LOCK(ssize_t, do_pwritev(fd, parts, count, 0, 1)); }
  pthread_mutex_lock(&lock);
  note_sent(parts, count, SSIZE_MAX);
  pthread_mutex_unlock(&lock);
  return next(fd, parts, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t place) {
  if (kind_of(fd) != 1) return ((put_at)real("pwrite64"))(fd, bytes, length, place);
  UNDER_LOCK(ssize_t, do_pwrite(fd, bytes, length, place, 0));
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t place) { return pwrite64(fd, bytes, length, place); }

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t place) {
  if (kind_of(fd) != 1) return REAL(pwritev64)(fd, parts, count, place);
  UNDER_LOCK(ssize_t, do_pwritev(fd, parts, count, place, 0));
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t place) { return pwritev64(fd, parts, count, place); }

static int do_truncate(int fd, off_t length) {
  int (*next)(int, off_t) = real("ftruncate64");
  if (fails(OP_TRUNCATE)) return -1;
  int done = next(fd, length);
  if (done == 0) note('T', inode_of(fd), length, "", 0);
  return done;
}
int ftruncate64(int fd, off64_t length) {
  if (kind_of(fd) != 1) return ((int (*)(int, off_t))real("ftruncate64"))(fd, length);
  UNDER_LOCK(int, do_truncate(fd, length));
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int do_sync(int fd, const char *name) {
  int (*next)(int) = real(name);
  if (fails(OP_SYNC)) {
    int kept = errno;
    note('F', inode_of(fd), 0, "", 0);
    errno = kept;
    return -1;
  }
  if (no_sync) return 0;
  int done = next(fd);
  if (done == 0) note('S', inode_of(fd), 0, "", 0);
  return done;
}
int fsync(int fd) {
  if (kind_of(fd) != 1) return REAL(fsync)(fd);
  UNDER_LOCK(int, do_sync(fd, "fsync"));
}
int fdatasync(int fd) {
  if (kind_of(fd) != 1) return REAL(fdatasync)(fd);
  UNDER_LOCK(int, do_sync(fd, "fdatasync"));
}

static int do_open(int folder, const char *path, int flags, mode_t mode) {
  int (*next)(int, const char *, int, ...) = real("openat64");
  char at[PATH_MAX];
  int is_made = 0, is_emptied = 0;
  if (whole(folder, path, at) && is_state(at) && (flags & (O_CREAT | O_TRUNC))) {
    struct stat about;
    is_made = (flags & O_CREAT) && syscall(SYS_newfstatat, AT_FDCWD, at, &about, 0) != 0;
    is_emptied = !is_made && (flags & O_TRUNC);
    if (fails(OP_OPEN)) return -1;
  }
  int fd = next(folder, path, flags, mode);
  if (fd >= 0 && is_made) note_path('C', inode_of(fd), at);
  if (fd >= 0 && is_emptied) note('T', inode_of(fd), 0, "", 0);
  return fd;
}
int openat64(int folder, const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  UNDER_LOCK(int, do_open(folder, path, flags, mode));
}
#define OPEN_WITH_MODE(folder, path, flags)                              \
  va_list rest;                                                          \
  va_start(rest, flags);                                                 \
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
  va_end(rest);                                                          \
  return openat64(folder, path, flags, mode)
int openat(int folder, const char *path, int flags, ...) { OPEN_WITH_MODE(folder, path, flags); }
int open64(const char *path, int flags, ...) { OPEN_WITH_MODE(AT_FDCWD, path, flags); }
int open(const char *path, int flags, ...) { OPEN_WITH_MODE(AT_FDCWD, path, flags); }

static int do_rename(const char *from, const char *to) {
  int (*next)(const char *, const char *) = real("rename");
  char both[2 * PATH_MAX], a[PATH_MAX], b[PATH_MAX];
  int is_ours = whole(AT_FDCWD, from, a) && whole(AT_FDCWD, to, b) && (is_state(a) || is_state(b));
  if (is_ours && fails(OP_RENAME)) return -1;
  int done = next(from, to);
  if (done == 0 && is_ours) note('R', 0, 0, both, snprintf(both, sizeof both, "%s\n%s", a, b));
  return done;
}
int rename(const char *from, const char *to) { UNDER_LOCK(int, do_rename(from, to)); }

static int do_unlinkat(int folder, const char *path, int flags) {
  int (*next)(int, const char *, int) = real("unlinkat");
  char at[PATH_MAX];
  int is_ours = whole(folder, path, at) && is_state(at);
  if (is_ours && fails(OP_UNLINK)) return -1;
  int done = next(folder, path, flags);
  if (done == 0 && is_ours) note_path('U', 0, at);
  return done;
}
int unlinkat(int folder, const char *path, int flags) { UNDER_LOCK(int, do_unlinkat(folder, path, flags)); }
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

static int do_mkdir(const char *path, mode_t mode) {
  int (*next)(const char *, mode_t) = real("mkdir");
  char at[PATH_MAX];
  int is_ours = whole(AT_FDCWD, path, at) && is_state(at);
  if (is_ours && fails(OP_MKDIR)) return -1;
  int done = next(path, mode);
  struct stat about;
  if (done == 0 && is_ours) note_path('M', stat(at, &about) == 0 ? about.st_ino : 0, at);
  return done;
}
int mkdir(const char *path, mode_t mode) { UNDER_LOCK(int, do_mkdir(path, mode)); }
