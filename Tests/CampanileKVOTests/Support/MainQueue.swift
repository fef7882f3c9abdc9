import Dispatch

/// Waits until the main queue has run what was there, also what gave way to others meanwhile.
func drainMain() async {
  for _ in 0..<100 {
    await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
  }
}
