/// How a request ended.
package enum AnswerStatus: UInt8, Hashable, Sendable {
  /// The payload is the answer.
  case answered = 0
  /// The answer failed; the payload says why.
  case failed = 1
  /// Nobody answers this subject.
  case nobodyAnswers = 2
  /// The connection ended, or the member that was asked left, before it answered.
  case disconnected = 3
  /// It was not sent; the payload is the reason, as a sentence. No frame says this.
  case refused = 4
}

extension AnswerStatus: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    let value: UInt8 = try reader.read()
    guard let status = Self(rawValue: value), status != .refused else {
      throw FrameError("A reply has the unknown status \(value).")
    }
    self = status
  }

  func write(to writer: inout FrameWriter) { writer.write(rawValue) }
}
