/// Takes a value in a way that the optimizer cannot see through, so that it must be computed.
@inline(never) @_optimize(none)
func blackHole<Value: ~Copyable>(_ value: borrowing Value) {}

/// Returns what it is given, in a way that the optimizer cannot see through.
@inline(never) @_optimize(none)
func opaque<Value>(_ value: Value) -> Value { value }
