// expect-error: has no member 'initial'
import Campanile

func follow(_ ticks: Broadcaster<Int>) -> ObservationToken {
  ticks.observe(.initial) { print($0) }
}
