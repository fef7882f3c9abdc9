/// Says why bytes are no frame, or why a frame is not allowed.
struct FrameError: Error, Hashable, Sendable, CustomStringConvertible {
  var message: String

  init(_ message: String) { self.message = message }

  var description: String { message }
}
