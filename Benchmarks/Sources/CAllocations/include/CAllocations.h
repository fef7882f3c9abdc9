// Counts what goes through malloc and its relatives in the whole process, while that is asked for.

#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

#include <stdbool.h>

/// Whether allocations can be counted on this platform.
bool allocations_can_be_counted(void);

/// Starts counting from zero.
void allocations_begin(void);

/// Stops counting.
void allocations_end(void);

/// How many blocks were allocated, by all threads, between the last begin and end.
long allocations_count(void);

/// By how many bytes the live blocks grew between the last begin and end.
long allocations_live_bytes(void);

#endif
