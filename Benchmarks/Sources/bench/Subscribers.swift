import ArgumentParser
import Campanile
import Dispatch
import Foundation
import Synchronization

/// Prints what each form of a subscription takes, with 100,000 of them: the table of the guide "Where
/// to put a subscriber".
///
/// Each form has a process of its own, because memory that one form has released would be another's.
struct Subscribers: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "subscribers", abstract: "Measures 100,000 subscriptions of each form.")

  @Option(help: ArgumentHelp("Measure this form, in this process.", valueName: "name"))
  var form: String?

  func run() throws {
    guard let form else { return try everyForm() }
    guard let subscribe = Subscription.forms.first(where: { $0.name == form })?.subscribe else {
      throw ValidationError("There is no form named \"\(form)\".")
    }
    let hall = Hall()
    let start = Usage()
    let members = (0..<Hall.subscriptions).map { subscribe(hall, hall.rooms[$0 / 10], $0) }
    let registered = Usage()
    for _ in 0..<11 { hall.post() }
    while hall.received.load(ordering: .relaxed) < 11 * Hall.subscriptions {
      Thread.sleep(forTimeInterval: 0.01)
    }
    let end = Usage()
    withExtendedLifetime(members) {}
    let bytes = [registered, end].map { ($0.bytes - start.bytes) / Hall.subscriptions }
    let seconds = String(format: "%.1f", end.seconds - registered.seconds)
    Output.write("| \(form) | \(bytes[0]) | \(bytes[1]) | \(seconds) |")
  }

  private func everyForm() throws {
    Output.write("| form | bytes | bytes after 1.1 million deliveries | CPU seconds for them |")
    Output.write("|---|---|---|---|")
    for form in Subscription.forms {
      let process = Process()
      process.executableURL = Bundle.main.executableURL
      process.arguments = ["subscribers", "--form", form.name]
      try process.run()
      process.waitUntilExit()
    }
  }
}

/// What the process has taken so far.
struct Usage {
  let bytes: Int
  let seconds: Double

  init() {
    var usage = rusage()
    unsafe getrusage(numericCast(RUSAGE_SELF.rawValue), &usage)
    bytes = usage.ru_maxrss * 1024
    let parts = [usage.ru_utime, usage.ru_stime]
    seconds = parts.reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
  }
}

/// Ten thousand rooms with ten subscriptions each.
private final class Hall: Sendable {
  static let subscriptions = 100_000

  let center = MessageCenter()
  let rooms = (0..<10_000).map { _ in Room() }
  let queues = (0..<4).map { DispatchQueue(label: "queue \($0)") }
  let received = Atomic<Int>(0)

  /// Posts one message about each room.
  func post() {
    for room in rooms {
      center.post(Said(text: "hello"), about: room)
      for reader in room.readers.withLock({ $0 }) { reader.yield(Said(text: "hello")) }
    }
  }

  func receive() { received.wrappingAdd(1, ordering: .relaxed) }
}

private final class Room: Sendable {
  let readers = Mutex<[AsyncStream<Said>.Continuation]>([])
}

private struct Said: MessageCenter.Message {
  typealias Subject = Room
  var text: String
}

private final class Member: Sendable {
  let hall: Hall
  init(_ hall: Hall) { self.hall = hall }
}

private actor ActorMember {
  let hall: Hall
  init(_ hall: Hall) { self.hall = hall }
}

/// A way to subscribe to a room; the result is what the subscriber keeps.
private struct Subscription {
  let name: String
  let subscribe: (Hall, Room, Int) -> any Sendable

  static var forms: [Subscription] {
    [
      Subscription(name: "`observe(owner:)`, on the posting thread") { hall, room, _ in
        let member = Member(hall)
        messages(hall, room).observe(owner: member) { member, _ in member.hall.receive() }
        return member
      },
      Subscription(name: "`observe(owner:on: .queue(…))`, of four queues") {
        hall, room, number in
        let member = Member(hall)
        messages(hall, room).observe(owner: member, on: .queue(hall.queues[number % 4])) {
          member, _ in member.hall.receive()
        }
        return member
      },
      Subscription(name: "the same, with `.newest(16)`") { hall, room, number in
        let member = Member(hall)
        messages(hall, room).observe(
          owner: member, on: .queue(hall.queues[number % 4], buffering: .newest(16))
        ) { member, _ in member.hall.receive() }
        return member
      },
      Subscription(name: "`observe(on: actor)`, an actor for each") { hall, room, _ in
        let member = ActorMember(hall)
        messages(hall, room).observe(on: member) { member, _ in member.hall.receive() }
        return member
      },
      Subscription(name: "`observeAsync(owner:)`, with `.newest(16)`") { hall, room, _ in
        let member = Member(hall)
        messages(hall, room).observeAsync(owner: member, buffering: .newest(16)) { member, _ in
          member.hall.receive()
        }
        return member
      },
      Subscription(name: "a task that reads `values(buffering: .newest(16))`") { hall, room, _ in
        let values = messages(hall, room).values(buffering: .newest(16))
        return Task { for await _ in values { hall.receive() } }
      },
      Subscription(name: "a task that reads an `AsyncStream` of its own") { hall, room, _ in
        let (stream, reader) = AsyncStream.makeStream(
          of: Said.self, bufferingPolicy: .bufferingNewest(16))
        room.readers.withLock { $0.append(reader) }
        return Task { for await _ in stream { hall.receive() } }
      },
    ]
  }

  private static func messages(_ hall: Hall, _ room: Room) -> MessageCenter.Messages<Said> {
    hall.center.messages(of: Said.self, about: room)
  }
}
