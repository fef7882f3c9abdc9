import Campanile
import Foundation

extension NotificationBridge {
  /// The ways in which a bridge carries one type.
  struct Carriage {
    var outward: Way?
    var inward: Way?

    func close() {
      outward?.close()
      inward?.close()
    }
  }

  /// Whom to tell what cannot be decoded.
  final class Reporter: Sendable {
    let file: StaticString
    let line: UInt
    let onFailure: (@Sendable (NotificationDecodingFailure) -> Void)?

    init(
      file: StaticString, line: UInt,
      onFailure: (@Sendable (NotificationDecodingFailure) -> Void)?
    ) {
      self.file = file
      self.line = line
      self.onFailure = onFailure
    }
  }

  /// One way in which a type is carried: a registration.
  ///
  /// Registering calls others and so is done under no lock, by whoever finds the way not open yet.
  /// Of several who do that at a time the first one to come back has opened it; nothing is carried
  /// by the registrations of the others. So a post that hears both is carried once.
  final class Way: Sendable {
    private enum State {
      case new
      case open(Attempt, Registration)
      case closed
    }

    private let state = Locked(State.new)
    private let reporter = Locked<Reporter?>(nil)

    private var isNew: Bool {
      state.withLock { if case .new = $0 { true } else { false } }
    }

    func counts(_ attempt: Attempt) -> Bool {
      state.withLock { if case .open(let chosen, _) = $0 { chosen === attempt } else { false } }
    }

    func open(_ register: (Attempt) -> Registration) {
      guard isNew else { return }
      let attempt = Attempt(self)
      let registration = register(attempt)
      let hasOpened = state.withLock { state -> Bool in
        guard case .new = state else { return false }
        state = .open(attempt, registration)
        return true
      }
      if !hasOpened { registration.cancel() }
    }

    func close() {
      let last = state.withLock { state in
        defer { state = .closed }
        return state
      }
      if case .open(_, let registration) = last { registration.cancel() }
    }

    func setReporter(_ new: Reporter) {
      let old = reporter.withLock { reporter in
        defer { reporter = new }
        return reporter
      }
      withExtendedLifetime(old) {}
    }

    /// Tells that a notification could not be decoded.
    func report(_ error: any Error, name: Notification.Name, _ type: any Any.Type) {
      guard let reporter = reporter.withLock({ $0 }) else { return }
      let failure = NotificationDecodingFailure(
        name: name, valueType: type, error: error, file: "\(reporter.file)",
        line: Int(reporter.line))
      failure.report(to: reporter.onFailure)
    }
  }

  /// Somebody's attempt to open a way, as the observer knows it that was registered for that.
  final class Attempt: Sendable {
    let way: Way

    init(_ way: Way) { self.way = way }

    /// Whether it is this attempt that opened the way.
    var counts: Bool { way.counts(self) }
  }
}
