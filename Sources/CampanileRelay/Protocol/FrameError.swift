/// The reason why bytes are not a frame, or why a frame is not allowed.
package struct FrameError: Error, Hashable, Sendable, CustomStringConvertible {
  var message: String

  init(_ message: String) { self.message = message }

  package var description: String { message }
}
