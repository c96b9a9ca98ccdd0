/*
 * The bounded spool of output, in the format of `src/spool/frame.ts`, with the rules of `src/spool/spool-writer.ts`: a
 * piece is one write, the first segment stays, and of the later ones only the newest are kept.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SEGMENT_HEADER_BYTES = 32, FRAME_HEADER_BYTES = 24 };

static void put_u64(unsigned char *at, uint64_t value) {
  uint64_t big = htobe64(value);
  memcpy(at, &big, sizeof big);
}

static void name_segment(char *out, size_t size, int64_t index) {
  snprintf(out, size, "out-%08lld.log", (long long)index);
}

/* A write may be short on a disk that is nearly full; the rest goes out until an error says why it can't. */
static bool write_both(int file, const void *head, size_t head_size, const void *tail, size_t tail_size) {
  struct iovec parts[2] = {{(void *)head, head_size}, {(void *)tail, tail_size}};
  for (size_t at = 0; at < 2;) {
    ssize_t count = writev(file, parts + at, (int)(2 - at));
    if (count < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    size_t done = (size_t)count;
    for (; at < 2 && done >= parts[at].iov_len; at += 1) done -= parts[at].iov_len;
    if (at < 2) {
      parts[at].iov_base = (char *)parts[at].iov_base + done;
      parts[at].iov_len -= done;
    }
  }
  return true;
}

void spool_open(struct spool *spool, int folder, const struct order *order) {
  *spool = (struct spool){
    .folder = folder,
    .file = -1,
    .index = -1,
    .next_seq = 2,
    .segment_max_bytes = order->segment_max_bytes,
    .tail_segments_max = order->tail_segments_max,
    .pin = -1,
    .given_up_pin = -1,
    .pin_max_ms = order->pin_max_ms,
  };
}

void spool_close(struct spool *spool) {
  if (spool->file >= 0) close(spool->file);
  spool->file = -1;
}

static bool open_next(struct spool *spool) {
  char name[NAME_MAX_BYTES];
  unsigned char header[SEGMENT_HEADER_BYTES];
  spool_close(spool);
  name_segment(name, sizeof name, spool->index + 1);
  int file = openat(spool->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return false;
  memcpy(header, "SNDSPL01", 8);
  put_u64(header + 8, spool->next_seq);
  put_u64(header + 16, spool->offsets[STREAM_STDOUT]);
  put_u64(header + 24, spool->offsets[STREAM_STDERR]);
  if (!write_both(file, header, sizeof header, "", 0)) {
    close(file);
    unlinkat(spool->folder, name, 0);
    return false;
  }
  spool->index += 1;
  spool->used = sizeof header;
  spool->file = file;
  int64_t dropped = spool->index - spool->tail_segments_max;
  if (dropped > 0) {
    name_segment(name, sizeof name, dropped);
    unlinkat(spool->folder, name, 0);
  }
  return true;
}

static bool append(struct spool *spool, int stream, const void *bytes, size_t length) {
  int64_t size = FRAME_HEADER_BYTES + (int64_t)length;
  bool is_full = spool->used + size > spool->segment_max_bytes;
  if ((spool->file < 0 || is_full) && !open_next(spool)) return false;
  unsigned char header[FRAME_HEADER_BYTES] = {0};
  uint32_t big = htobe32((uint32_t)length);
  memcpy(header, &big, sizeof big);
  header[4] = stream == STREAM_STDOUT ? 1 : 2;
  put_u64(header + 8, spool->next_seq);
  put_u64(header + 16, spool->offsets[stream]);
  if (!write_both(spool->file, header, sizeof header, bytes, length)) {
    /* It may end in half a frame, behind which nothing could be read: the next one goes to a fresh segment. */
    spool_close(spool);
    return false;
  }
  spool->used += size;
  spool->next_seq += 1;
  return true;
}

void spool_append(struct spool *spool, int stream, const void *bytes, size_t length) {
  append(spool, stream, bytes, length);
  /* Kept or not: the streams go on, and a reader sees from the offsets what is missing. */
  spool->offsets[stream] += length;
}

/* The lowest segment that a reader still wants, -1 when nobody does. */
static int64_t read_pin(int folder) {
  char text[16] = "";
  int file = openat(folder, "reader.pin", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  return length > 0 ? strtoll(text, NULL, 10) : -1;
}

bool spool_waits(struct spool *spool, int64_t now) {
  int64_t dropped = spool->index + 1 - spool->tail_segments_max;
  /* Both streams may be read before we are asked again. */
  bool is_near_end = spool->used + 2 * (FRAME_HEADER_BYTES + PIECE_BYTES) > spool->segment_max_bytes;
  if (spool->file < 0 || dropped <= 0 || !is_near_end) return false;
  int64_t pin = read_pin(spool->folder);
  if (pin < 0 || pin > dropped || pin == spool->given_up_pin) return false;
  if (pin != spool->pin) {
    spool->pin = pin;
    spool->pinned_since = now;
  }
  if (now - spool->pinned_since < spool->pin_max_ms) return true;
  /* Whoever it was doesn't read any more, or its daemon is gone: the command isn't held up for it again. */
  spool->given_up_pin = pin;
  return false;
}

uint64_t spool_take_seq(struct spool *spool) {
  spool->next_seq += 1;
  return spool->next_seq - 1;
}
