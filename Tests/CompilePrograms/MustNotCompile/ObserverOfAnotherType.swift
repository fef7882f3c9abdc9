// expect-error: cannot convert value of type 'Int' to expected argument type 'String'
import Campanile

func show(_ title: String) { print(title) }

func observe(_ ticks: Broadcaster<Int>) -> ObservationToken {
  ticks.observe { show($0) }
}
