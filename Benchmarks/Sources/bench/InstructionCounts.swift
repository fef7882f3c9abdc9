import ArgumentParser
import Campanile
import Synchronization

/// Runs one case so often, and nothing else, for a tool that counts instructions.
///
/// With `--list` it prints the names of the cases and how often each is worth running. With
/// `--allocations` it prints how many blocks the case allocated.
struct CountInstructions: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "instructions", shouldDisplay: false)

  @Flag var list = false
  @Flag var allocations = false
  @Argument var name: String?
  @Argument var count: Int?

  func run() throws {
    if list {
      for item in InstructionCase.all { Output.write("\(item.name) \(item.count)") }
      return
    }
    guard let name, let count, count >= 0 else {
      throw ValidationError("A case is needed, and how often it is to run.")
    }
    guard let item = InstructionCase.all.first(where: { $0.name == name }) else {
      throw ValidationError("There is no case \"\(name)\"; --list shows what there is.")
    }
    guard allocations else { return item.run(count) }
    guard Allocations.passesControl(), let made = Allocations.during({ item.run(count) }) else {
      throw ValidationError("Allocations can't be counted here.")
    }
    Output.write("\(made.count)")
  }
}

/// A case whose instructions are counted.
struct InstructionCase: Sendable {
  let name: String
  /// A number of iterations that is many beside what happens once, and does not take long.
  let count: Int
  let run: @Sendable (Int) -> Void

  static let all: [Self] =
    [0, 1, 10, 100].map(send) + [sendFiltered(10)] + [0, 1, 10, 100].map(post) + [
      Self(name: "post-1-any", count: 5_000, run: postWithWildcard),
      postWithOwners(10), postWithOwners(10_000),
      Self(name: "post-subject-10", count: 5_000, run: postAboutSubject),
      Self(name: "post-of-many", count: 5_000, run: postAboutOneOfMany),
      multicast(10), multicast(100),
      Self(name: "observe-cancel-1000", count: 1_000, run: observeAndCancel),
      Self(name: "observe-cancel-subject", count: 1_000, run: observeAboutSubjectAndCancel),
      Self(name: "observe-cancel-owner", count: 500, run: observeWithOwnerAndCancel),
      Self(
        name: "observe-cancel-broadcaster-owner", count: 500, run: observeSourceWithOwnerAndCancel),
      queued(observers: 1), queued(observers: 100),
    ] + QueuedInstructions.cases + [
      Self(name: "set-followed-1", count: 1_000, run: setFollowed)
    ] + Notifications.instructionCases + KeyValue.instructionCases + Tracing.instructionCases
    + Relaying.instructionCases

  private static func send(_ observers: Int) -> Self {
    Self(name: "send-\(observers)", count: 5_000 / max(1, observers / 5)) { count in
      let source = Broadcaster<Message8>()
      let sink = Sink()
      let tokens = (0..<observers).map { _ in source.observe { sink.add($0.value) } }
      for value in 0..<count { source.send(Message8(value)) }
      withExtendedLifetime(tokens) {}
    }
  }

  /// Sends to observers of what a filter lets through, which is every other element.
  private static func sendFiltered(_ observers: Int) -> Self {
    Self(name: "send-filtered-\(observers)", count: 2_500) { count in
      let source = Broadcaster<Message8>()
      let sink = Sink()
      let odd = source.filter { $0.value & 1 == 1 }
      let tokens = (0..<observers).map { _ in odd.observe { sink.add($0.value) } }
      for value in 0..<count { source.send(Message8(value)) }
      withExtendedLifetime(tokens) {}
    }
  }

  private static func post(_ observers: Int) -> Self {
    Self(name: "post-\(observers)", count: 5_000 / max(1, observers / 5)) { count in
      let center = MessageCenter()
      let sink = Sink()
      let tokens = (0..<observers).map { _ in
        center.observe(Message8.self) { sink.add($0.value) }
      }
      for value in 0..<count { center.post(Message8(value)) }
      withExtendedLifetime(tokens) {}
    }
  }

  /// Posts to one observer of the type and one of any message.
  private static func postWithWildcard(_ count: Int) {
    let center = MessageCenter()
    let sink = Sink()
    let tokens = [
      center.observe(Message8.self) { sink.add($0.value) },
      center.anyMessage.observe { _ in sink.add(1) },
    ]
    for value in 0..<count { center.post(Message8(value)) }
    withExtendedLifetime(tokens) {}
  }

  private static func multicast(_ memberCount: Int) -> Self {
    Self(name: "multicast-\(memberCount)", count: 20_000 / memberCount) { count in
      let multicast = Multicast<any Member>()
      let members = (0..<memberCount).map { _ in CalledMember() }
      for member in members { multicast.add(member) }
      for value in 0..<count { multicast.call { $0.hear(value) } }
      withExtendedLifetime(members) {}
    }
  }

  private static func postWithOwners(_ observers: Int) -> Self {
    Self(name: "post-owner-\(observers)", count: 5_000 / max(1, observers / 5)) { count in
      let center = MessageCenter()
      let owners = (0..<observers).map { _ in Owner(Sink()) }
      for owner in owners { center.observe(Message8.self, owner: owner) { $0.add($1.value) } }
      for value in 0..<count { center.post(Message8(value)) }
      withExtendedLifetime(owners) {}
    }
  }

  private static func postAboutSubject(_ count: Int) {
    let center = MessageCenter()
    let sink = Sink()
    // Many subjects: how long the table looks for one differs with its address, and so from
    // machine to machine.
    let subjects = (0..<1_000).map { _ in Subject() }
    let tokens = subjects.flatMap { subject in
      (0..<10).map { _ in
        center.messages(of: SubjectMessage.self, about: subject).observe { sink.add($0.value) }
      }
    }
    for value in 0..<count {
      center.post(SubjectMessage(value), about: subjects[value % subjects.count])
    }
    withExtendedLifetime(tokens) {}
  }

  /// Posts about one of so many subjects that most of what a post needs is in no near cache.
  private static func postAboutOneOfMany(_ count: Int) {
    let center = MessageCenter()
    let sink = Sink()
    let subjects = (0..<50_000).map { _ in Subject() }
    let tokens = subjects.map { subject in
      center.messages(of: SubjectMessage.self, about: subject).observe { sink.add($0.value) }
    }
    for value in 0..<count {
      // A prime beyond their number comes to every subject, in no order that a cache foresees.
      center.post(SubjectMessage(value), about: subjects[value &* 104_729 % subjects.count])
    }
    withExtendedLifetime(tokens) {}
  }

  private static func observeAndCancel(_ count: Int) {
    let center = MessageCenter()
    let sink = Sink()
    let tokens = (0..<1_000).map { _ in center.observe(Message8.self) { sink.add($0.value) } }
    center.post(Message8(1))
    for _ in 0..<count {
      let token = center.observe(Message8.self) { sink.add($0.value) }
      token.cancel()
    }
    withExtendedLifetime(tokens) {}
  }

  private static func observeAboutSubjectAndCancel(_ count: Int) {
    let center = MessageCenter()
    let sink = Sink()
    let subjects = (0..<1_000).map { _ in Subject() }
    let tokens = subjects.map { subject in
      center.messages(of: SubjectMessage.self, about: subject).observe { sink.add($0.value) }
    }
    let others = (0..<1_000).map { _ in Subject() }
    for value in 0..<count {
      let subject = others[value % others.count]
      center.messages(of: SubjectMessage.self, about: subject).observe { sink.add($0.value) }
        .cancel()
    }
    withExtendedLifetime(tokens) {}
  }

  private static func observeWithOwnerAndCancel(_ count: Int) {
    let center = MessageCenter()
    let owner = Owner(Sink())
    for _ in 0..<count {
      center.observe(Message8.self, owner: owner) { $0.add($1.value) }.cancel()
    }
  }

  private static func observeSourceWithOwnerAndCancel(_ count: Int) {
    let source = Broadcaster<Message8>()
    let owner = Owner(Sink())
    for _ in 0..<count {
      source.observe(owner: owner) { $0.add($1.value) }.cancel()
    }
  }

  /// A post to observers that are delivered later, in one place, and the delivery.
  ///
  /// The place is one that runs its jobs when it is told to, on the same thread: what a queue's own
  /// threads do meanwhile differs from run to run.
  private static func queued(observers: Int) -> Self {
    let name = observers == 1 ? "queued" : "queued-\(observers)"
    return Self(name: name, count: 1_000 / max(1, observers / 5)) { count in
      let center = MessageCenter()
      let sink = Sink()
      let target = ManualTarget()
      let tokens = (0..<observers).map { _ in
        center.observe(Message8.self, on: .target(target)) { sink.add($0.value) }
      }
      for value in 0..<count {
        center.post(Message8(value))
        target.runJob()
      }
      withExtendedLifetime(tokens) {}
    }
  }

  private static func setFollowed(_ count: Int) {
    let state = CurrentValue(0)
    let sink = Sink()
    let token = state.observe { sink.add($0) }
    for value in 0..<count { state.value = value }
    withExtendedLifetime(token) {}
  }
}

/// A place that keeps its job until it is told to run it.
final class ManualTarget: DeliveryTarget {
  let mailbox = Mailbox()
  private let job = Mutex<DeliveryJob?>(nil)

  func enqueue(_ job: DeliveryJob) {
    self.job.withLock { $0 = job }
  }

  func runJob() {
    job.withLock { $0.take() }?.run()
  }
}

private protocol Member: AnyObject {
  func hear(_ value: Int)
}

private final class CalledMember: Member {
  private let sink = Sink()
  func hear(_ value: Int) { sink.add(value) }
}
