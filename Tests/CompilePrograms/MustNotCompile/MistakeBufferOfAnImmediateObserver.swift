// expect-error: 6:22: 'immediate(buffering:)' is unavailable: An immediate observer is called at once and keeps nothing waiting: name a place for it, such as .queue(queue, buffering: .newest(4))
// What is called at once does not wait, so that there is nothing to bound.
import Campanile

func listen(_ ticks: Broadcaster<Int>) -> ObservationToken {
  ticks.observe(on: .immediate(buffering: .newest(4))) { print($0) }
}
