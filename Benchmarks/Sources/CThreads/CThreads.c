#if defined(__linux__)
#define _GNU_SOURCE
#endif

#include "CThreads.h"

#if defined(__linux__)

#include <sched.h>

int threads_current_core(void) { return sched_getcpu(); }

void threads_avoid_core(int core) {
  static _Thread_local cpu_set_t allowed;
  static _Thread_local int is_known;
  if (!is_known) {
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    is_known = 1;
  }
  cpu_set_t others = allowed;
  if (core >= 0 && core < CPU_SETSIZE) CPU_CLR(core, &others);
  if (CPU_COUNT(&others) > 0) sched_setaffinity(0, sizeof others, &others);
}

#else

int threads_current_core(void) { return -1; }

void threads_avoid_core(int core) { (void)core; }

#endif
