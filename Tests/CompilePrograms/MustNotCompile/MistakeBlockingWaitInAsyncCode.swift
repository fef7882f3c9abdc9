// expect-error: 6:7: expression is 'async' but is not marked with 'await'
// Asynchronous code forgets `await`.
import Campanile

func stop(_ token: ObservationToken) async {
  _ = token.cancelAndWait()
}
