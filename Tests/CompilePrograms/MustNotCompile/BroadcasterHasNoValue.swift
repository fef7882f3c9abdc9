// expect-error: has no member 'value'
import Campanile

func read(_ ticks: Broadcaster<Int>) {
  print(ticks.value)
}
