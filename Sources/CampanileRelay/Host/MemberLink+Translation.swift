// Conversions between the names of the relay and those of the protocol of its hub.

extension ReplyStatus {
  init(_ status: AnswerStatus) {
    switch status {
    case .answered: self = .ok
    case .nobodyAnswers: self = .nobody
    case .failed, .timedOut, .disconnected, .refused: self = .failed
    }
  }
}

extension AnswerStatus {
  init(_ status: ReplyStatus) {
    switch status {
    case .ok: self = .answered
    case .failed: self = .failed
    case .nobody: self = .nobodyAnswers
    case .left: self = .disconnected
    }
  }
}

extension RelayBuffering {
  var bufferingPolicy: BufferingPolicy {
    switch policy {
    case .newest: .newest(bytes: byteCount)
    case .oldest: .oldest(bytes: byteCount)
    }
  }
}
