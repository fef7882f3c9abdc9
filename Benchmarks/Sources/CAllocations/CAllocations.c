#include "CAllocations.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

// While nobody counts, an allocation pays for one load and one branch that is always predicted, so
// that times are those of a program without this file.
static atomic_bool counting;
static atomic_long count;
static atomic_long live_bytes;

void allocations_begin(void) {
  atomic_store(&count, 0);
  atomic_store(&live_bytes, 0);
  atomic_store(&counting, true);
}

void allocations_end(void) { atomic_store(&counting, false); }

long allocations_count(void) { return atomic_load(&count); }

long allocations_live_bytes(void) { return atomic_load(&live_bytes); }

#if defined(__GLIBC__)

#include <errno.h>
#include <malloc.h>

// What the definitions below replace, under the names that the C library keeps for that purpose.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t number, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

bool allocations_can_be_counted(void) { return true; }

static inline bool is_counting(void) {
  return __builtin_expect(atomic_load_explicit(&counting, memory_order_relaxed), 0);
}

static void add(void *block) {
  if (block == NULL) return;
  atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
  long size = (long)malloc_usable_size(block);
  atomic_fetch_add_explicit(&live_bytes, size, memory_order_relaxed);
}

static void subtract(void *block) {
  long size = (long)malloc_usable_size(block);
  atomic_fetch_sub_explicit(&live_bytes, size, memory_order_relaxed);
}

void *malloc(size_t size) {
  void *block = __libc_malloc(size);
  if (is_counting()) add(block);
  return block;
}

void *calloc(size_t number, size_t size) {
  void *block = __libc_calloc(number, size);
  if (is_counting()) add(block);
  return block;
}

void *realloc(void *block, size_t size) {
  bool counts = is_counting();
  long before = counts && block != NULL ? (long)malloc_usable_size(block) : 0;
  void *moved = __libc_realloc(block, size);
  // A block of no bytes is freed; one that cannot be had leaves the old one as it was.
  if (counts && (moved != NULL || size == 0)) {
    atomic_fetch_sub_explicit(&live_bytes, before, memory_order_relaxed);
    add(moved);
  }
  return moved;
}

void *memalign(size_t alignment, size_t size) {
  void *block = __libc_memalign(alignment, size);
  if (is_counting()) add(block);
  return block;
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) {
    return EINVAL;
  }
  void *block = memalign(alignment, size);
  if (block == NULL) return ENOMEM;
  *result = block;
  return 0;
}

void free(void *block) {
  if (block != NULL && is_counting()) subtract(block);
  __libc_free(block);
}

#else

bool allocations_can_be_counted(void) { return false; }

#endif
