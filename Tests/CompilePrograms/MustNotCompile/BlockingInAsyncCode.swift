// expect-error: is unavailable from asynchronous contexts
import Campanile

func stop(_ token: ObservationToken) async {
  token.cancelAndWait()
}
