import Campanile
import Foundation

extension NotificationBridge {
  /// The directions in which a bridge carries one type.
  struct Carriage {
    var outward: Way?
    var inward: Way?

    func close() {
      outward?.close()
      inward?.close()
    }
  }

  /// Reports notifications that cannot be decoded.
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

  /// One direction in which a type is carried: a registration.
  ///
  /// Registering calls foreign code. So it happens outside the lock, on any thread that finds the
  /// way not yet open. If several threads register at the same time, the first one to finish opens
  /// the way. The registrations of the others carry nothing. So a post that reaches several of them
  /// is carried once.
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

    /// Reports that a notification could not be decoded.
    func report(_ error: any Error, name: Notification.Name, _ type: any Any.Type) {
      guard let reporter = reporter.withLock({ $0 }) else { return }
      let failure = NotificationDecodingFailure(
        name: name, valueType: type, error: error, file: "\(reporter.file)",
        line: Int(reporter.line))
      failure.report(to: reporter.onFailure)
    }
  }

  /// An attempt to open a way.
  ///
  /// The observer that was registered for the attempt refers to it.
  final class Attempt: Sendable {
    let way: Way

    init(_ way: Way) { self.way = way }

    /// Whether this attempt opened the way.
    var counts: Bool { way.counts(self) }
  }
}
