public import Campanile

/// The observations that were registered at one line.
public struct RegistrationPlace: Sendable, CustomStringConvertible {
  /// The file in which they were registered, as `#fileID` names it.
  public let file: String
  /// The line at which they were registered.
  public let line: Int
  /// The observations, oldest first.
  public let registrations: [RegistrationDescription]

  /// The place, and how many there are.
  public var description: String { "\(file):\(line)  \(registrations.count)" }
}

/// Something that waits to be delivered.
public struct WaitingDeliveries: Sendable, CustomStringConvertible {
  /// Where it waits.
  public let delivery: String
  /// How many values are in an observer's own buffer, or how many messages wait at a shared place.
  ///
  /// Those are from all sources, and each may be for several observers.
  public let count: Int
  /// The observers that share the place, or the one whose buffer it is.
  public let registrations: [RegistrationDescription]

  /// The place and the count.
  public var description: String {
    "\(count) on \(delivery) for \(registrations.map { "\($0.file):\($0.line)" }.joined(separator: ", "))"
  }
}

extension Traceable {
  /// The live observations by the line that registered them, the most first.
  ///
  /// A line with thousands is where observations are made and never ended.
  public var registrationsByLine: Report<RegistrationPlace> {
    let groups = Dictionary(grouping: registrations) { Line(file: $0.file, number: $0.line) }
    let places = groups.map {
      RegistrationPlace(file: $0.file, line: $0.number, registrations: $1)
    }
    return Report(
      places.sorted { one, other in
        one.registrations.count != other.registrations.count
          ? one.registrations.count > other.registrations.count
          : (one.file, one.line) < (other.file, other.line)
      })
  }

  /// Where something waits for observers of this source, the most first.
  public var waiting: Report<WaitingDeliveries> {
    let registrations = registrations
    var found = registrations.filter { $0.waitingCount > 0 }.map { one in
      WaitingDeliveries(
        delivery: one.delivery, count: one.waitingCount, registrations: [one])
    }
    // Two targets may have one mailbox, as two values of `DispatchQueue.main` do.
    var sharing: [ObjectIdentifier: (mailbox: Mailbox, ones: [RegistrationDescription])] = [:]
    for one in registrations {
      guard let mailbox = one.sharedTarget?.mailbox else { continue }
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

private struct Line: Hashable {
  let file: String
  let number: Int
}
