// Where threads run.

#ifndef CTHREADS_H
#define CTHREADS_H

/// The core that the calling thread runs on, or -1 where that cannot be known.
int threads_current_core(void);

/// Has the calling thread run on any core but this one, if there is another that it may run on.
void threads_avoid_core(int core);

#endif
