/// Text that no description shows.
struct Secret: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  let text: String
  init(_ text: String) { self.text = text }
  var description: String { "(secret)" }
  var debugDescription: String { description }
  var customMirror: Mirror { Mirror(self, children: []) }
}
