// expect-error: is 'async' but is not marked with 'await'
import Campanile

func stop(_ registration: Registration) async {
  _ = registration.cancelAndWait()
}
