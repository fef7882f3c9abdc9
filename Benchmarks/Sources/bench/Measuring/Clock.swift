import Dispatch

/// Nanoseconds since some moment.
func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

/// The nanoseconds that `body` takes.
func time(_ body: () -> Void) -> Double {
  let start = now()
  body()
  return Double(now() - start)
}
