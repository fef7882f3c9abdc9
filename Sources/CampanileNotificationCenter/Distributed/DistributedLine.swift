import Campanile
import CampanileRelay
import Dispatch
import Foundation

/// The notifications that the distributed centers on one relay receive together.
///
/// A notification reaches all of them in one turn of the main queue. So none of them receives an
/// answer before its question. The centers keep the line.
final class DistributedLine: Sendable {
  private static let lines = Locked(WeakTable<ObjectIdentifier, DistributedLine>())

  let centers = DistributedCenters()
  /// Tells the relay from a later one at the same address.
  private weak let relay: Relay?
  private let listening: ObservationToken

  /// The line of a relay, which the caller keeps.
  static func of(_ relay: Relay) -> DistributedLine {
    // The line of a relay that had the address before may be about to be released.
    lines.shared(ObjectIdentifier(relay), or: DistributedLine(relay)) { $0.relay === relay }
  }

  private init(_ relay: Relay) {
    self.relay = relay
    listening = relay.raw("\(DistributedPost.domain).*").observe {
      [centers, weak relay] payload in
      guard centers.areObserved(payload.subject) else { return }
      do {
        centers.deliver(try DistributedPost(payload.bytes))
      } catch {
        relay?.reportUndecodable(payload, as: Notification.self, error)
      }
    }
  }
}

/// The observers of the distributed centers on one relay.
final class DistributedCenters: Sendable {
  private let all = Locked<[DistributedObservers]>([])

  func add(_ center: DistributedObservers) { all.withLock { $0.append(center) } }

  func remove(_ center: DistributedObservers) {
    all.withLock { all in all.removeAll { $0 === center } }
  }

  func areObserved(_ subject: String) -> Bool {
    all.withLock { $0 }.contains { $0.isObserved(subject) }
  }

  /// Delivers a notification to the observers of all centers, on the main queue.
  func deliver(_ post: DistributedPost) {
    DispatchQueue.main.async {
      for center in self.all.withLock({ $0 }) { center.receive(post) }
    }
  }
}
