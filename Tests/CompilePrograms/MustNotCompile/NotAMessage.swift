// expect-error: conform to 'MessageCenter.Message'
import Campanile

func post(_ center: MessageCenter) {
  center.post("Aria")
}
