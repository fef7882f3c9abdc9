import Campanile
import Dispatch

/// Waits until the main queue has run what was there, also what gave way to others meanwhile.
func drainMain() async {
  // Behind what waits there for other tests, too.
  await withCheckedContinuation { done in
    Delivery.queue(.main).ordered.perform { done.resume() }
  }
  for _ in 0..<100 {
    await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
  }
}
