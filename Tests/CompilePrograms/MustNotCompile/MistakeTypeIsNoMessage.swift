// expect-error: 6:10: instance method 'observe(_:on:options:file:line:_:)' requires that 'String' conform to 'MessageCenter.Message'
// The type is not a message.
import Campanile

func follow(_ center: MessageCenter) -> ObservationToken {
  center.observe(String.self) { print($0) }
}
