/// A reference that is handed to another thread although its type does not say that it may be.
struct Shared<Value>: @unchecked Sendable {
  // SAFETY: only for the rivals' types that lock by themselves, and for what is only read.
  let value: Value
  init(_ value: Value) { self.value = value }
}
