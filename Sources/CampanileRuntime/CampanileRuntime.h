#ifndef CAMPANILE_RUNTIME_H
#define CAMPANILE_RUNTIME_H

/// Retains an object that Swift counts, unless its deinit has begun.
///
/// A function of the Swift runtime, which the standard library does not offer. Its name is reserved
/// in Swift source, so that it is declared here.
///
/// Returns the object, or null if its deinit has begun. The object's memory must be reserved.
void *_Nullable swift_tryRetain(void *_Nonnull object);

/// Stores the return addresses of the calling functions, the innermost first.
///
/// A function of the C library of Apple's systems and of GNU, whose module in Swift leaves its
/// header out.
///
/// Returns how many there are, `size` at most.
int backtrace(void *_Nullable *_Nonnull buffer, int size);

#if defined(__linux__)
// The C library's module in Swift leaves this header out.
#include <sys/epoll.h>

/// Returns the system's number for the calling thread.
///
/// A function of the C library that is declared for few of its users.
int gettid(void);

/// Accepts a connection, as `accept` does, with flags for the new socket.
///
/// A function of the C library that is declared for few of its users. It takes no address here.
///
/// Returns the socket, or -1.
int accept4(int socket, void *_Nullable address, void *_Nullable size, int flags);
#endif

#endif
