public import Campanile

/// The observations that were registered at one line.
public struct RegistrationPlace: Sendable, CustomStringConvertible {
  /// The file in which they were registered, as `#fileID` names it.
  public let file: String
  /// The line at which they were registered.
  public let line: Int
  /// The observations, oldest first.
  public let registrations: [RegistrationDescription]

  /// The place, and the number of observations.
  public var description: String { "\(file):\(line)  \(registrations.count)" }
}

/// Values or messages that wait to be delivered.
public struct WaitingDeliveries: Sendable, CustomStringConvertible {
  /// The delivery that they wait for.
  public let delivery: String
  /// The number of values in an observer's own buffer, or of messages at a shared place, which may be
  /// of several sources, and each for several observers.
  public let count: Int
  /// The observers that share the place, or the observer that owns the buffer.
  public let registrations: [RegistrationDescription]

  /// The place and the count.
  public var description: String {
    "\(count) on \(delivery) for \(registrations.map { "\($0.file):\($0.line)" }.joined(separator: ", "))"
  }
}

/// The live observations of a source, grouped.
///
/// ```swift
/// print(Registrations(of: center).byLine)
/// ```
public struct Registrations: Sendable {
  /// The observations, oldest first.
  public let all: [RegistrationDescription]

  /// Reads the observations that a source has now.
  public init(of source: any Traceable) { all = source.registrations }

  /// Reads the observations that would receive a message now.
  ///
  /// ```swift
  /// print(Registrations(of: center, hearing: LevelChanged.self, about: player).all)
  /// ```
  ///
  /// Observers that run at the same place are called in this order. Observers of any message are
  /// included, and so are paused ones, which would skip the message. Without a subject, the observers
  /// of a single subject are left out. A subject that Objective-C counts is taken for a dead one at
  /// the same address. Takes O(*n* log *n*) in all observations of the center.
  public init<M: MessageCenter.Message>(
    of center: MessageCenter, hearing type: M.Type, about subject: M.Subject? = nil
  ) {
    let name = subject.map { ObjectIdentifier($0) }
    all = center.registrations.filter {
      $0.valueType == (any MessageCenter.Message).self
        || $0.valueType == type && ($0.subject == nil || $0.subject == name)
    }
  }

  /// The observations, grouped by the line that registered them.
  ///
  /// Lines with the most come first. A line with thousands creates them and never ends them.
  public var byLine: Report<RegistrationPlace> {
    let places = Dictionary(grouping: all) { "\($0.file):\($0.line)" }.values.map {
      RegistrationPlace(file: $0[0].file, line: $0[0].line, registrations: $0)
    }
    return Report(
      places.sorted { one, other in
        one.registrations.count != other.registrations.count
          ? one.registrations.count > other.registrations.count
          : (one.file, one.line) < (other.file, other.line)
      })
  }

  /// The places where deliveries wait for observers of this source, the longest queue first.
  public var waiting: Report<WaitingDeliveries> {
    var found = all.filter { $0.waitingCount > 0 }.map {
      WaitingDeliveries(delivery: $0.delivery, count: $0.waitingCount, registrations: [$0])
    }
    // Two targets may share one mailbox, as two values of `DispatchQueue.main` do.
    var sharing: [ObjectIdentifier: (mailbox: Mailbox, ones: [RegistrationDescription])] = [:]
    for one in all {
      guard let mailbox = one.sharedMailbox else { continue }
      sharing[ObjectIdentifier(mailbox), default: (mailbox, [])].ones.append(one)
    }
    for (mailbox, ones) in sharing.values where mailbox.waitingCount > 0 {
      found.append(
        WaitingDeliveries(
          delivery: ones[0].delivery, count: mailbox.waitingCount, registrations: ones))
    }
    return Report(found.sorted { $0.count > $1.count })
  }
}
