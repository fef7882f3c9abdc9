// expect-error: 6:10: value of type 'Signal<String>' has no member 'send'
// The read-only view is asked to send.
import Campanile

func send(_ titles: Signal<String>) {
  titles.send("Aria")
}
