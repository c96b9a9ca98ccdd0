/*
 * Named places where a test build dies by SIGKILL, as in `node-kit/src/failpoint.ts`: `SAND_FAILPOINT` is
 * `<name>:<hit>`. Without the constant this file is empty, so a shipped shim has none and no setting can wake one.
 */
#include "shim.h"

#ifdef SAND_FAILPOINTS
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void failpoint(const char *name) {
  static long hits;
  const char *armed = getenv("SAND_FAILPOINT");
  size_t length = strlen(name);
  if (armed == NULL || strncmp(armed, name, length) != 0) return;
  long at = 1;
  if (armed[length] == ':') at = strtol(armed + length + 1, NULL, 10);
  else if (armed[length] != '\0') return;
  hits += 1;
  if (hits != at) return;
  kill(getpid(), SIGKILL);
  for (;;) pause();
}
#else
typedef int failpoint_c_is_empty;
#endif
