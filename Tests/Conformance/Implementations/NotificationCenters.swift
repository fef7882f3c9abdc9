import CampanileNotificationCenter
import Foundation

extension Implementation {
  static let replacement = Implementation(
    name: "CampanileNotificationCenter",
    abilities: [.subjects, .wildcards, .queues, .concurrency, .owners, .lifetimes, .nesting],
    patience: 20
  ) { NotificationSource(CampanileNotificationCenter.NotificationCenter()) }

  static let foundation = Implementation(
    name: "Foundation", abilities: [.subjects, .wildcards, .queues, .concurrency, .nesting],
    patience: 20
  ) { NotificationSource(Foundation.NotificationCenter()) }
}

/// What the two centers have in common.
private protocol CenterInterface: AnyObject, Sendable {
  func post(name: Notification.Name, object: Any?, userInfo: [AnyHashable: Any]?)
  func addObserver(
    forName name: Notification.Name?, object: Any?, queue: OperationQueue?,
    using block: @escaping @Sendable (Notification) -> Void
  ) -> any NSObjectProtocol
  func removeObserver(_ observer: Any)
}

extension Foundation.NotificationCenter: CenterInterface {}
extension CampanileNotificationCenter.NotificationCenter: CenterInterface {}

/// A center's token, which says nothing about threads; both centers take it on any.
private struct Token: @unchecked Sendable {
  let token: any NSObjectProtocol
}

private final class NotificationSource<Center: CenterInterface>: Source {
  private let center: Center
  private let name = Notification.Name("Rung")

  init(_ center: Center) { self.center = center }

  func post(_ number: Int) {
    center.post(name: name, object: nil, userInfo: ["number": number])
  }

  func post(_ number: Int, about subject: Bell) {
    center.post(name: name, object: subject, userInfo: ["number": number])
  }

  func observe(_ wish: Wish, _ observer: @escaping @Sendable (Int) throws -> Void) -> Handle {
    if let owner = wish.owner { return observe(for: owner, observer) }
    let token = Token(
      token: center.addObserver(
        forName: wish.isWildcard ? nil : name, object: wish.subject,
        queue: wish.place?.operations
      ) { notification in
        try? observer(notification.userInfo?["number"] as? Int ?? -1)
      })
    return Handle(cancel: { [center] in center.removeObserver(token.token) })
  }

  /// With a method of the owner's, which only the replacement has on Linux.
  private func observe(
    for owner: Owner, _ observer: @escaping @Sendable (Int) throws -> Void
  ) -> Handle {
    guard let center = center as? CampanileNotificationCenter.NotificationCenter else {
      preconditionFailure("Foundation's center has no owners here")
    }
    center.addObserver(
      owner,
      selector: { _ in
        { notification in try? observer(notification.userInfo?["number"] as? Int ?? -1) }
      }, name: name, object: nil)
    return Handle(cancel: { [weak owner] in
      if let owner { center.removeObserver(owner) }
    })
  }
}
