// expect-error: result of call to 'observe
import Campanile

func observe(_ ticks: Broadcaster<Int>) {
  ticks.observe { print($0) }
}
