// expect-error: is 'async' but is not marked with 'await'
import Campanile

func stop(_ token: ObservationToken) async {
  _ = token.cancelAndWait()
}
