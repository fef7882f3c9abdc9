// expect-error: is unavailable from asynchronous contexts
import Campanile

func stop(_ registration: Registration) async {
  registration.cancelAndWait()
}
