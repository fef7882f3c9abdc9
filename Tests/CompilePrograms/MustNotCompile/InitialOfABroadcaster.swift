// expect-error: 'initial' is unavailable: Only a state has a value to begin with
import Campanile

func follow(_ ticks: Broadcaster<Int>) -> ObservationToken {
  ticks.observe(options: .initial) { print($0) }
}
