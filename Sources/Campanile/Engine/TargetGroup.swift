/// The observers of one list that share a target.
final class TargetGroup: Sendable {
  let target: any DeliveryTarget
  let mailbox: Mailbox
  let list: GroupList

  init(_ target: any DeliveryTarget, _ mailbox: Mailbox, of parent: ObserverList) {
    self.target = target
    self.mailbox = mailbox
    list = GroupList(of: parent)
    unsafe list.group = Unmanaged.passUnretained(self)
  }
}

/// The list of a group.
///
/// It does not keep the target: what waits in the target's mailbox keeps this list.
@safe final class GroupList: ObserverList, @unchecked Sendable {
  private let name: SubjectName?
  // A source ends all registrations before its lists can go.
  private unowned let parent: ObserverList
  // SAFETY: used by a post that has found the list in its group, whose array its announcement keeps.
  fileprivate(set) var group: Unmanaged<TargetGroup>?

  fileprivate init(of parent: ObserverList) {
    self.parent = parent
    name = parent.subject
    super.init(registry: parent.registry, valueType: parent.valueType)
  }

  /// The group, while the list is in it; valid as `entries` is.
  var targetGroup: TargetGroup? {
    parent.currentGroups?.groups.first { $0.list === self }
  }

  override var subject: SubjectName? { name }

  override var root: ObserverList { parent.root }

  override func populationChanged(by change: Int32, _ held: borrowing ObserverRegistry.Held) {
    parent.addToPopulation(change, held)
  }

  override func leaveParent(_ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held) {
    parent.drop(self, &garbage, held)
  }

  override func shrinkParent(_ held: borrowing ObserverRegistry.Held) -> (any Retirable)? {
    parent.shrink(held)
  }
}

/// The groups of a list; replaced as a whole, never changed.
final class GroupArray: Retirable {
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
