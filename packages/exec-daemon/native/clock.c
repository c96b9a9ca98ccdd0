/* The two clocks: one that only goes forward, for waiting; the wall's, for records. */
#include "shim.h"

#include <limits.h>
#include <time.h>

static int64_t read_clock(clockid_t id) {
  struct timespec now;
  clock_gettime(id, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t now_ms(void) { return read_clock(CLOCK_MONOTONIC); }

int64_t wall_ms(void) { return read_clock(CLOCK_REALTIME); }

int wait_until_ms(int64_t then, int64_t now, int longest) {
  if (then == 0) return longest;
  int64_t left = then <= now ? 0 : then - now;
  /* One of years is waited for in pieces. */
  if (left > INT_MAX / 2) left = INT_MAX / 2;
  return longest >= 0 && longest < left ? longest : (int)left;
}
