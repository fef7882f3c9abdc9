// expect-error: 6:3: 'await' in a function that does not support concurrency
// Synchronous code awaits.
import Campanile

func stop(_ token: ObservationToken) {
  await token.cancelAndWait()
}
