/// The observers of one list that share a target.
final class TargetGroup: Sendable {
  let target: any DeliveryTarget
  let mailbox: Mailbox
  let list: ObserverList

  init(target: any DeliveryTarget, mailbox: Mailbox, list: ObserverList) {
    self.target = target
    self.mailbox = mailbox
    self.list = list
  }
}

/// The groups of a list; replaced as a whole, never changed.
final class GroupArray: Sendable {
  let groups: [TargetGroup]
  /// The only group, if there is one.
  let only: TargetGroup?
  let created: UInt64

  init(_ groups: [TargetGroup], created: UInt64) {
    self.groups = groups
    only = groups.count == 1 ? groups[0] : nil
    self.created = created
  }

  func first(for mailbox: Mailbox) -> TargetGroup? {
    groups.first { $0.mailbox === mailbox }
  }
}
