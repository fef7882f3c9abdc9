#ifndef CAMPANILE_RUNTIME_H
#define CAMPANILE_RUNTIME_H

/// Retains an object that Swift counts, unless its deinit has begun.
///
/// A function of the Swift runtime, which the standard library does not offer. Its name is reserved
/// in Swift source, so that it is declared here.
///
/// Returns the object, or null if its deinit has begun. The object's memory must be reserved.
void *_Nullable swift_tryRetain(void *_Nonnull object);

#endif
