// expect-error: 6:7: 'await' in a function that does not support concurrency
// Synchronous code awaits.
import Campanile

func stop(_ token: ObservationToken) {
  _ = await token.cancelAndWait()
}
