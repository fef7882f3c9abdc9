// expect-error: cannot convert value of type 'String' to expected argument type 'Int'
import Campanile

func send(_ ticks: Broadcaster<Int>) {
  ticks.send("Aria")
}
