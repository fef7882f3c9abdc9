import Campanile

/// A source of this package's own: one requirement.
struct Keyboard: ObservationSource {
  private let keys = Broadcaster<Character>()

  var signal: Signal<Character> { keys.filter(\.isLetter) }

  func press(_ text: String) { for key in text { keys.send(key) } }
}

/// A state of this package's own: one requirement.
final class Counter: StateSource {
  private let count = CurrentValue(0)

  var readOnly: ReadOnlyState<Int> { count.readOnly }

  func increment() { count.update { $0 += 1 } }
}
