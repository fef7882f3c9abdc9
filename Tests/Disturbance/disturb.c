// Loaded before a test program: stops its threads wherever they are, and begins its tasks late.
//
// Whatever a test takes for granted about who is faster, it finds out. What is done to the program
// follows from a seed, what comes of it does not: threads are not stopped at the same places twice.
//
//   DISTURB_SEED     a number
//   DISTURB_PROGRAM  the path of the program; others that inherit the environment are left alone
//
// Linux only. `scripts/disturb` compiles this and runs the tests with it.

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// How hard the program is disturbed; times are in microseconds.
struct Manner {
  unsigned delayedPercent;  // of the tasks' jobs
  unsigned longestDelay;
  unsigned longestStop;     // sixteen times as long once in a while
  unsigned period;          // between two stops
};

static const struct Manner manners[] = {
    {20, 5000, 3000, 300},    // something of everything
    {60, 5000, 20000, 1000},  // long stops
    {0, 0, 1000, 50},         // many stops, and tasks in their order
    {90, 5000, 300, 2000},    // hardly a task in its order
};

static struct Manner manner;
static unsigned seed;

// Xorshift, with a state for each thread: a handler of signals may call it.
static unsigned next(void) {
  static __thread unsigned state;
  if (state == 0) state = (seed ^ (unsigned)syscall(SYS_gettid) * 2654435761u) | 1;
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

static void sleepFor(unsigned microseconds) {
  struct timespec time = {microseconds / 1000000, (microseconds % 1000000) * 1000L};
  syscall(SYS_nanosleep, &time, NULL);
}

// Runs on the thread that is stopped.
static void stop(int signal) {
  (void)signal;
  int error = errno;
  unsigned longest = manner.longestStop * (next() % 16 == 0 ? 16 : 1);
  sleepFor(next() % longest);
  errno = error;
}

static void *stopOthers(void *unused) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  pid_t self = (pid_t)syscall(SYS_gettid), process = getpid();
  for (;;) {
    sleepFor(50 + next() % (2 * manner.period));
    pid_t threads[1024];
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/task");
    if (directory == NULL) continue;
    for (struct dirent *entry; count < 1024 && (entry = readdir(directory)) != NULL;) {
      pid_t thread = atoi(entry->d_name);
      if (thread != 0 && thread != self) threads[count++] = thread;
    }
    closedir(directory);
    if (count > 0) syscall(SYS_tgkill, process, threads[next() % count], SIGUSR2);
  }
  return unused;
}

// Swift's runtime hands a job to this hook, if there is one, with what it would have done itself.
typedef void (*Enqueue)(void *job);

struct Delayed {
  void *job;
  Enqueue enqueue;
  unsigned delay;
};

static void *enqueueLate(void *argument) {
  struct Delayed delayed = *(struct Delayed *)argument;
  free(argument);
  sleepFor(delayed.delay);
  delayed.enqueue(delayed.job);
  return NULL;
}

static void enqueue(void *job, Enqueue original) {
  if (next() % 100 >= manner.delayedPercent) return original(job);
  struct Delayed *delayed = malloc(sizeof *delayed);
  *delayed = (struct Delayed){job, original, next() % manner.longestDelay};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 1 << 18);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, enqueueLate, delayed) != 0) {
    free(delayed);
    original(job);
  }
  pthread_attr_destroy(&attributes);
}

__attribute__((constructor)) static void begin(void) {
  const char *program = getenv("DISTURB_PROGRAM"), *number = getenv("DISTURB_SEED");
  char path[PATH_MAX] = {0};
  if (program == NULL || number == NULL) return;
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0 || strcmp(path, program) != 0) return;
  seed = (unsigned)strtoul(number, NULL, 10);
  manner = manners[seed % (sizeof manners / sizeof *manners)];
  void **hook = dlsym(RTLD_DEFAULT, "swift_task_enqueueGlobal_hook");
  if (hook == NULL) {
    fprintf(stderr, "disturb: this runtime has no hook for jobs\n");
    abort();
  }
  if (manner.delayedPercent > 0) *hook = (void *)enqueue;
  struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};
  sigaction(SIGUSR2, &action, NULL);
  pthread_t thread;
  if (pthread_create(&thread, NULL, stopOthers, NULL) != 0) abort();
}
